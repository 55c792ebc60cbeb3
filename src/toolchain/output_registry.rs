//! The output files of a build script, so that no call overwrites the file of another one.

use crate::runtime::facts::Finding;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// The name of a file that a build script builds twice with different contents.
pub struct OutputConflict<'a>(pub &'a Path);

/// Output files, each with a description of its contents.
#[derive(Debug, Default)]
pub struct Written {
    made: RefCell<Vec<(PathBuf, String)>>,
}

impl Written {
    /// Registers a file with everything that determines its contents. It is an error if the file is already registered
    /// with something else.
    pub fn register(&self, output: &Path, how: &str) -> Result<(), Finding> {
        let mut made = self.made.borrow_mut();
        if made
            .iter()
            .any(|(known, other)| known == output && other != how)
        {
            let file = Path::new(output.file_name().unwrap_or_default());
            return Err(OutputConflict(file).finding());
        }
        made.push((output.to_path_buf(), how.to_string()));
        Ok(())
    }
}
