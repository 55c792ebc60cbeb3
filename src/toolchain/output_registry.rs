//! The output files of a build script, so that no call overwrites the file of another one.

use crate::runtime::facts::finding::Finding;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// A build script that writes one file twice with different contents.
pub enum OutputConflict<'a> {
    /// A file from the same source with different options.
    Ways(&'a Path, &'a Path),
    Sources(&'a Path, &'a Path, &'a Path),
    /// A library or a module with different contents.
    Product(&'static str, &'a str),
}

/// Output files, each with its source and options.
#[derive(Debug, Default)]
pub struct Written {
    made: RefCell<Vec<(PathBuf, (PathBuf, String))>>,
}

impl Written {
    /// Registers a file. It is an error if the file is already registered with another source or other options.
    pub fn file(&self, output: &Path, source: &Path, how: &str) -> Result<(), Finding> {
        let Some(first) = self.register(output, source, how) else {
            return Ok(());
        };
        let file = Path::new(output.file_name().unwrap_or_default());
        let conflict = if *source == first {
            OutputConflict::Ways(file, source)
        } else {
            OutputConflict::Sources(file, &first, source)
        };
        Err(conflict.finding())
    }

    /// Like [`file`](Self::file), but for a product of several sources: a `library` or a Rust `module`.
    pub fn product(
        &self,
        output: &Path,
        kind: &'static str,
        name: &str,
        how: &str,
    ) -> Result<(), Finding> {
        match self.register(output, Path::new(name), how) {
            None => Ok(()),
            Some(_) => Err(OutputConflict::Product(kind, name).finding()),
        }
    }

    /// Registers an output. Returns its previous source if the source or the options differ.
    fn register(&self, output: &Path, source: &Path, how: &str) -> Option<PathBuf> {
        let made = (source.to_path_buf(), how.to_string());
        let mut written = self.made.borrow_mut();
        match written.iter().find(|(known, _)| known == output) {
            Some((_, first)) => (*first != made).then(|| first.0.clone()),
            None => {
                written.push((output.to_path_buf(), made));
                None
            }
        }
    }
}
