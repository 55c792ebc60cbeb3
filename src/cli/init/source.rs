//! Insertion of lines into the `main` of a Rust source file, if it has the usual form.

use crate::cli::init::recipe;
use crate::model::pattern;
use std::ops::Range;

/// A `main`, from its attributes and comments to the beginning of its body.
const MAIN: &str =
    r"(?m)^(?:[ \t]*(?:#\[.*|//(?:[^!\n].*)?)\n)*(?:pub )?(?:async )?fn main\([^{]*\{";

fn find_main(text: &str) -> Option<Range<usize>> {
    Some(pattern(MAIN).find(text)?.range())
}

/// Returns the text with these statements, as complete lines, at the beginning of `main`.
pub fn with_statements(text: &str, statements: &str) -> Option<String> {
    let (before, after) = text.split_at(find_main(text)?.end);
    let line = after.split('\n').next().unwrap_or_default();
    let rest = match line.trim() {
        "" => after[line.len()..].trim_start_matches('\n').to_string(),
        "}" => after.trim_start().to_string(),
        _ => format!("   {after}"),
    };
    Some(format!("{before}\n{statements}{rest}"))
}

/// Returns the text with this item above `main` with its attributes and comments.
pub fn with_item(text: &str, item: &str) -> Option<String> {
    let (before, after) = text.split_at(find_main(text)?.start);
    Some(format!("{before}{item}\n{after}"))
}

/// Returns the text with the function `check` from docs/python.md in its Python module, if that is a Rust module.
pub fn with_check(text: &str) -> Option<String> {
    let (_, check) = recipe::PAGE.split_once("mod fastconv {\n")?;
    let (check, _) = check.split_once("}\n```")?;
    let module = pattern(r"#\[(?:pyo3::)?pymodule\]\n(?:pub )?mod \w+ \{\n").find(text)?;
    let (before, after) = text.split_at(module.end());
    (!text.contains("fn check(")).then(|| format!("{before}{check}\n{after}"))
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
