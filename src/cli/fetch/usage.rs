//! Instructions for using the fetched files, and the `[env]` table of `.cargo/config.toml`.

use crate::Finding;
use crate::cli::fetch::fault::{failed, io};
use crate::cli::fetch::installed::Installed;
use crate::cli::{terminal, whole_file};
use crate::model::joined;
use crate::report::layout::wrapped;
use crate::runtime::facts::{majors, quoted};
use crate::system::files;
use std::fs;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table, value};

impl Installed {
    /// Returns the directories of a toolkit that has one, and of cuDNN.
    pub fn dirs(&self) -> [Option<PathBuf>; 2] {
        let dir = |name: &str| Some(self.home.join("nvidia").join(name)).filter(|dir| dir.is_dir());
        let toolkit = dir(&format!("cu{}", majors::NEWEST_CUDA));
        [toolkit, dir("cudnn").or_else(|| dir("cudnn_jit"))]
    }

    /// Adds the variables that a build needs to the `[env]` table of a file's text. The rest stays the same, byte for byte.
    /// Returns `None` if the text is not TOML, or sets one of them outside this directory: the user then decided about it.
    fn with_variables(&self, text: &str) -> Option<String> {
        let mut toml: DocumentMut = text.parse().ok()?;
        let env = toml.entry("env").or_insert(Item::Table(Table::new()));
        let env = env.as_table_like_mut()?;
        let [toolkit, cudnn] = self.dirs();
        let dirs = [Some(self.home.clone()), toolkit, cudnn];
        // Other crates expect a complete toolkit in CUDA_HOME.
        let names = ["CUDNN_GUARD_HOME", "CUDA_HOME", "CUDNN_PATH"];
        for (name, dir) in names.into_iter().zip(&dirs) {
            let set = env.get(name).map(|set| set.as_str().unwrap_or_default());
            let is_own = set.is_some_and(|set| Path::new(set).starts_with(&self.home));
            match dir.as_ref().map(|dir| dir.to_str()) {
                Some(dir) if set.is_some() && set == dir => {}
                Some(dir) if is_own || set.is_none() => _ = env.insert(name, value(dir?)),
                Some(_) => return None,
                None => _ = is_own.then(|| env.remove(name)),
            }
        }
        Some(toml.to_string())
    }

    /// Describes what a build and a program need.
    pub fn how_to_use(&self) -> String {
        let table = self.with_variables("").unwrap_or("# not Unicode\n".into());
        let columns = terminal::columns();
        let build = "To build with it, add these lines to .cargo/config.toml (cudnn-guard finds the user data directory \
                     without them, but other crates may not)";
        let build = format!("\n{}\n\n{table}", wrapped(build, 0, columns));
        if cfg!(windows) {
            return build;
        }
        let mut dirs = files::list(&self.home.join("nvidia")).unwrap_or_default();
        // A link points to the libraries of another directory.
        dirs.retain(|dir| dir.join("lib").is_dir() && !files::is_link(&dir.join("lib")));
        dirs.sort_by_key(|dir| !dir.ends_with("cudnn"));
        let libraries = dirs.iter().map(|dir| dir.join("lib").display().to_string());
        let libraries = quoted(&joined(libraries, ":"));
        let run = "To run: programs linked by cudnn-guard find the libraries through their rpath. For other programs, and \
                   for libraries that open others while they run, such as NVRTC";
        let run = wrapped(run, 0, columns);
        format!("{build}\n{run}\n\nexport LD_LIBRARY_PATH={libraries}\n")
    }

    /// Writes the variables into the configuration of the current directory. Returns the message.
    pub fn write_config(&self) -> Result<String, Finding> {
        // cargo reads the file with the old name if there are both.
        let paths = [".cargo/config", ".cargo/config.toml"].map(Path::new);
        let path = paths[usize::from(!paths[0].exists())];
        let before = whole_file::read(path).map_err(io("read", path))?;
        let before = before.unwrap_or_default();
        let text = self.with_variables(&before).ok_or_else(|| {
            let path = path.display();
            let reason = "it sets one of these variables differently, or is not TOML, or the path is not Unicode";
            failed(format!("cannot extend `{path}`: {reason}"))
                .help(format!("add the lines above to `{path}` by hand"))
        })?;
        fs::create_dir_all(".cargo").map_err(io("create", path))?;
        whole_file::replace(path, &text).map_err(io("write", path))?;
        Ok(format!("\n  ✓ written into {}\n", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = "/opt/a \"b\"";

    /// Nothing is installed in the directory, so CUDNN_GUARD_HOME is the only variable.
    fn with(home: &str, text: &str) -> Option<String> {
        Installed::with(Path::new(home), Default::default()).with_variables(text)
    }

    #[test]
    fn a_new_file_gets_the_table() {
        assert_eq!(
            with(HOME, ""),
            Some("[env]\nCUDNN_GUARD_HOME = '/opt/a \"b\"'\n".to_string())
        );
    }

    #[test]
    fn existing_text_is_kept_and_the_table_is_extended() {
        for (before, after) in [
            (
                "[alias]\nb = \"build\"\n",
                "[alias]\nb = \"build\"\n\n[env]\nCUDNN_GUARD_HOME = \"/opt\"\n",
            ),
            (
                "[ env ] # mine\nA = \"1\"\n[build]\n",
                "[ env ] # mine\nA = \"1\"\nCUDNN_GUARD_HOME = \"/opt\"\n[build]\n",
            ),
            (
                "env = { A = \"1\" }\n",
                "env = { A = \"1\" , CUDNN_GUARD_HOME = \"/opt\" }\n",
            ),
            (
                "env.A = \"1\"\n",
                "env.A = \"1\"\nenv.CUDNN_GUARD_HOME = \"/opt\"\n",
            ),
            // A line inside a string does not belong to the table.
            (
                "[alias]\nb = [\"\"\"\n[env]\n\"\"\"]\n",
                "[alias]\nb = [\"\"\"\n[env]\n\"\"\"]\n\n[env]\nCUDNN_GUARD_HOME = \"/opt\"\n",
            ),
        ] {
            assert_eq!(with("/opt", before).as_deref(), Some(after));
        }
    }

    #[test]
    fn an_existing_variable_is_never_overwritten() {
        let text = "[env]\nCUDNN_GUARD_HOME = { value = \"x\", force = true }\n";
        assert_eq!(with(HOME, text), None);
        assert!(with(HOME, "[env]\nMY_CUDNN_GUARD_HOME = \"x\"\n").is_some());
    }

    #[test]
    fn an_up_to_date_file_is_unchanged() {
        let text = with(HOME, "").expect("a table");
        assert_eq!(with(HOME, &text), Some(text));
    }

    #[test]
    fn a_file_without_an_env_table_is_rejected() {
        for text in ["env = 1\n", "[env\n"] {
            assert_eq!(with(HOME, text), None, "{text}");
        }
    }
}
