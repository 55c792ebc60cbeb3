//! The `[env]` table of `.cargo/config.toml`.

use toml_edit::{DocumentMut, Item, Table, value};

/// A reason not to write the variables.
#[derive(Debug, PartialEq)]
pub enum Refused {
    /// The text already contains this variable.
    Named(String),
    /// The text is not TOML, or its `env` is not a table.
    Shape,
}

/// Adds these variables to the `[env]` table of a file's text. The rest stays the same, byte for byte.
pub fn with(text: &str, variables: &[(&str, String)]) -> Result<String, Refused> {
    let mut toml: DocumentMut = text.parse().map_err(|_| Refused::Shape)?;
    let env = toml.entry("env").or_insert(Item::Table(Table::new()));
    let env = env.as_table_like_mut().ok_or(Refused::Shape)?;
    let mut all = variables.iter();
    if all.all(|(name, value)| env.get(name).and_then(Item::as_str) == Some(value.as_str())) {
        return Ok(text.to_string());
    }
    // A variable in a comment counts too, since the user then decided about it.
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_named = |name: &str| words.clone().any(|word| word == name);
    if let Some((name, _)) = variables.iter().find(|(name, _)| is_named(name)) {
        return Err(Refused::Named((*name).to_string()));
    }
    for (name, text) in variables {
        env.insert(name, value(text));
    }
    Ok(toml.to_string())
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
            Ok("[env]\nCUDNN_GUARD_HOME = '/opt/a \"b\"'\n".to_string())
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
            assert_eq!(with(before, &variables).as_deref(), Ok(after));
        }
    }

    #[test]
    fn an_existing_variable_is_never_overwritten() {
        let text = "[env]\nCUDNN_GUARD_HOME = { value = \"x\", force = true }\n";
        let refused = Err(Refused::Named("CUDNN_GUARD_HOME".to_string()));
        assert_eq!(with(text, &home()), refused);
        assert_eq!(with("[env]\n# CUDNN_GUARD_HOME = 1\n", &home()), refused);
        assert!(with("[env]\nMY_CUDNN_GUARD_HOME = \"x\"\n", &home()).is_ok());
    }

    #[test]
    fn an_up_to_date_file_is_unchanged() {
        let text = with("", &home()).expect("a table");
        assert_eq!(with(&text, &home()), Ok(text));
    }

    #[test]
    fn a_file_without_an_env_table_is_rejected() {
        for text in ["env = 1\n", "[env\n"] {
            assert_eq!(with(text, &home()), Err(Refused::Shape), "{text}");
        }
    }
}
