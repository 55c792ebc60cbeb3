//! Insertion of lines into the `main` of a Rust source file, if it has the usual form.

/// Returns the positions of `main` and of its first statement.
fn find_main(text: &str) -> Option<(usize, usize)> {
    let mut line = 0;
    for one in text.split_inclusive('\n') {
        let rest = one.strip_prefix("pub ").unwrap_or(one);
        let rest = rest.strip_prefix("async ").unwrap_or(rest);
        if rest.starts_with("fn main(") {
            let body = line + text[line..].find('{')? + 1;
            return Some((line, body));
        }
        line += one.len();
    }
    None
}

/// Returns the text with these statements, as complete lines, at the beginning of `main`.
pub fn with_statements(text: &str, statements: &str) -> Option<String> {
    let (_, body) = find_main(text)?;
    let (before, after) = text.split_at(body);
    let rest = after.split('\n').next().unwrap_or_default();
    Some(match rest.trim() {
        "" => format!(
            "{before}\n{statements}{}",
            after[rest.len()..].trim_start_matches('\n')
        ),
        "}" => format!("{before}\n{statements}{}", after.trim_start()),
        _ => format!("{before}\n{statements}   {after}"),
    })
}

/// Returns the text with this item above `main` with its attributes and comments.
pub fn with_item(text: &str, item: &str) -> Option<String> {
    let (line, _) = find_main(text)?;
    let mut start = line;
    for one in text[..line].split_inclusive('\n').rev() {
        let own = one.trim_start();
        let is_inner = own.starts_with("#!") || own.starts_with("//!");
        if is_inner || !(own.starts_with("#[") || own.starts_with("//")) {
            break;
        }
        start -= one.len();
    }
    let (before, after) = text.split_at(start);
    Some(format!("{before}{item}\n{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_inserted_at_the_start_of_main() {
        for (before, after) in [
            ("fn main() {}\n", "fn main() {\n    a();\n}\n"),
            (
                "fn main() {\n    b();\n}\n",
                "fn main() {\n    a();\n    b();\n}\n",
            ),
            ("fn main() { b() }\n", "fn main() {\n    a();\n    b() }\n"),
            (
                "/// fn main() {\n#[x]\nasync fn main() -> Result<(), E> {\n    b()\n}",
                "/// fn main() {\n#[x]\nasync fn main() -> Result<(), E> {\n    a();\n    b()\n}",
            ),
        ] {
            assert_eq!(
                with_statements(before, "    a();\n").as_deref(),
                Some(after)
            );
        }
        assert_eq!(with_statements("pub fn other() {}\n", "    a();\n"), None);
    }

    #[test]
    fn an_item_is_inserted_above_main_and_its_attributes() {
        for (before, after) in [
            ("fn main() {}\n", "mod a;\n\nfn main() {}\n"),
            (
                "//! A program.\n#![allow(x)]\n\nuse b;\n\n// It runs.\n#[c]\nfn main() {}\n",
                "//! A program.\n#![allow(x)]\n\nuse b;\n\nmod a;\n\n// It runs.\n#[c]\nfn main() {}\n",
            ),
            (
                "//! A program.\nfn main() {}\n",
                "//! A program.\nmod a;\n\nfn main() {}\n",
            ),
        ] {
            assert_eq!(with_item(before, "mod a;\n").as_deref(), Some(after));
        }
    }
}
