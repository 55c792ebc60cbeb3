//! The `[env]` table of `.cargo/config.toml`.

use toml_edit::{DocumentMut, Item, Table, value};

/// Adds these variables to the `[env]` table of a file's text. The rest stays the same, byte for byte. Returns `None` if
/// the text is not TOML, or if it names one of the variables, even in a comment: the user then decided about it.
pub fn with(text: &str, variables: &[(&str, String)]) -> Option<String> {
    let mut toml: DocumentMut = text.parse().ok()?;
    let env = toml.entry("env").or_insert(Item::Table(Table::new()));
    let env = env.as_table_like_mut()?;
    let mut all = variables.iter();
    if all.all(|(name, value)| env.get(name).and_then(Item::as_str) == Some(value.as_str())) {
        return Some(text.to_string());
    }
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    if words.any(|word| variables.iter().any(|(name, _)| *name == word)) {
        return None;
    }
    for (name, text) in variables {
        env.insert(name, value(text));
    }
    Some(toml.to_string())
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
            Some("[env]\nCUDNN_GUARD_HOME = '/opt/a \"b\"'\n".to_string())
        );
    }

    #[test]
    fn existing_text_is_kept_and_the_table_is_extended() {
        for (before, after) in [
            (
                "[alias]\nb = \"build\"\n",
                "[alias]\nb = \"build\"\n\n[env]\nHOME_OF = \"/opt\"\n",
            ),
            (
                "[ env ] # mine\nA = \"1\"\n[build]\n",
                "[ env ] # mine\nA = \"1\"\nHOME_OF = \"/opt\"\n[build]\n",
            ),
            (
                "env = { A = \"1\" }\n",
                "env = { A = \"1\" , HOME_OF = \"/opt\" }\n",
            ),
            ("env.A = \"1\"\n", "env.A = \"1\"\nenv.HOME_OF = \"/opt\"\n"),
            // A line inside a string does not belong to the table.
            (
                "[alias]\nb = [\"\"\"\n[env]\n\"\"\"]\n",
                "[alias]\nb = [\"\"\"\n[env]\n\"\"\"]\n\n[env]\nHOME_OF = \"/opt\"\n",
            ),
        ] {
            let variables = [("HOME_OF", "/opt".to_string())];
            assert_eq!(with(before, &variables).as_deref(), Some(after));
        }
    }

    #[test]
    fn an_existing_variable_is_never_overwritten() {
        let text = "[env]\nCUDNN_GUARD_HOME = { value = \"x\", force = true }\n";
        assert_eq!(with(text, &home()), None);
        assert_eq!(with("[env]\n# CUDNN_GUARD_HOME = 1\n", &home()), None);
        assert!(with("[env]\nMY_CUDNN_GUARD_HOME = \"x\"\n", &home()).is_some());
    }

    #[test]
    fn an_up_to_date_file_is_unchanged() {
        let text = with("", &home()).expect("a table");
        assert_eq!(with(&text, &home()), Some(text));
    }

    #[test]
    fn a_file_without_an_env_table_is_rejected() {
        for text in ["env = 1\n", "[env\n"] {
            assert_eq!(with(text, &home()), None, "{text}");
        }
    }
}
