//! `.cargo/config.toml`, as far as its `[env]` table goes.

/// Why variables were not written.
#[derive(Debug, PartialEq)]
pub enum Refused {
    /// This variable is named there already.
    Named(String),
    /// It sets `env` in a way that a line cannot simply be added to.
    Shape,
}

/// The `[env]` table for these variables.
pub fn table(variables: &[(&str, String)]) -> String {
    format!("[env]\n{}", lines(variables))
}

/// The file's text with these variables in its `[env]` table. All else in it stays as it is, to the byte.
pub fn with(text: &str, variables: &[(&str, String)]) -> Result<String, Refused> {
    let code: Vec<&str> = text.lines().map(str::trim).collect();
    if lines(variables).lines().all(|line| code.contains(&line)) {
        return Ok(text.to_string());
    }
    if let Some((name, _)) = variables
        .iter()
        .find(|(name, _)| code.iter().any(|line| names(line, name)))
    {
        return Err(Refused::Named((*name).to_string()));
    }
    let headers = code.iter().filter(|line| is_env_header(line)).count();
    let elsewhere = code
        .iter()
        .any(|line| line.starts_with("env.") || line.starts_with("[env.") || is_env_key(line));
    if headers > 1 || elsewhere {
        return Err(Refused::Shape);
    }
    let mut out = String::with_capacity(text.len() + 200);
    if headers == 0 {
        out.push_str(text);
        if !text.is_empty() {
            out.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
        }
        out.push_str(&table(variables));
        return Ok(out);
    }
    for line in text.split_inclusive('\n') {
        out.push_str(line);
        if is_env_header(line.trim()) {
            if !line.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(&lines(variables));
        }
    }
    Ok(out)
}

fn lines(variables: &[(&str, String)]) -> String {
    variables
        .iter()
        .map(|(name, value)| format!("{name} = {}\n", quoted(value)))
        .collect()
}

/// Whether a line mentions a variable, be it in a comment: then a person has thought about it.
fn names(line: &str, name: &str) -> bool {
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|word| word == name)
}

fn is_env_header(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('[') else {
        return false;
    };
    let Some((name, after)) = rest.split_once(']') else {
        return false;
    };
    let after = after.trim_start();
    name.trim() == "env" && (after.is_empty() || after.starts_with('#'))
}

fn is_env_key(line: &str) -> bool {
    line.strip_prefix("env")
        .is_some_and(|rest| rest.trim_start().starts_with('='))
}

/// A basic string of TOML.
fn quoted(value: &str) -> String {
    let mut out = String::from("\"");
    for character in value.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> Vec<(&'static str, String)> {
        vec![("CUDNN_GUARD_HOME", "/opt/a \"b\"".to_string())]
    }

    #[test]
    fn a_new_file_gets_the_table() {
        assert_eq!(
            with("", &home()),
            Ok("[env]\nCUDNN_GUARD_HOME = \"/opt/a \\\"b\\\"\"\n".to_string())
        );
    }

    #[test]
    fn a_file_without_the_table_gets_it_at_its_end() {
        assert_eq!(
            with("[alias]\nb = \"build\"", &home()),
            Ok(
                "[alias]\nb = \"build\"\n\n[env]\nCUDNN_GUARD_HOME = \"/opt/a \\\"b\\\"\"\n"
                    .to_string()
            )
        );
    }

    #[test]
    fn a_table_that_is_there_gets_the_lines() {
        assert_eq!(
            with("[ env ] # mine\nA = \"1\"\n[build]\n", &home()),
            Ok(
                "[ env ] # mine\nCUDNN_GUARD_HOME = \"/opt/a \\\"b\\\"\"\nA = \"1\"\n[build]\n"
                    .to_string()
            )
        );
    }

    #[test]
    fn a_variable_that_is_named_is_never_written_over() {
        let text = "[env]\nCUDNN_GUARD_HOME = { value = \"x\", force = true }\n";
        let refused = Err(Refused::Named("CUDNN_GUARD_HOME".to_string()));
        assert_eq!(with(text, &home()), refused);
        assert_eq!(with("[env]\n# CUDNN_GUARD_HOME = 1\n", &home()), refused);
        assert!(with("[env]\nMY_CUDNN_GUARD_HOME = \"x\"\n", &home()).is_ok());
    }

    #[test]
    fn what_is_there_already_is_left_as_it_is() {
        let text = with("", &home()).expect("a table");
        assert_eq!(with(&text, &home()), Ok(text));
    }

    #[test]
    fn what_a_line_cannot_be_added_to_is_left_alone() {
        for text in [
            "env = { A = \"1\" }\n",
            "env.A = \"1\"\n",
            "[env.A]\nvalue = \"1\"\n",
        ] {
            assert_eq!(with(text, &home()), Err(Refused::Shape), "{text}");
        }
    }
}
