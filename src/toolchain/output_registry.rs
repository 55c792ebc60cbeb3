//! The files that one build script has made so far, so that no call overwrites what another one made.

use crate::runtime::facts::finding::Finding;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// A build script that makes one file of different things.
pub enum OutputConflict<'a> {
    /// A file is made of the same source in two ways.
    Ways(&'a Path, &'a Path),
    /// A file is made of two sources.
    Sources(&'a Path, &'a Path, &'a Path),
    /// A library or a module of this name is made in two ways.
    Product(&'static str, &'a str),
}

/// Each file with what it was made of, and how.
#[derive(Debug, Default)]
pub struct Written {
    made: RefCell<Vec<(PathBuf, (PathBuf, String))>>,
}

impl Written {
    /// Notes a file that is made of this one. It is an error if it was made before, of another one or in another way.
    pub fn file(&self, output: &Path, source: &Path, how: &str) -> Result<(), Finding> {
        let Some(first) = self.noted(output, source, how) else {
            return Ok(());
        };
        let file = Path::new(output.file_name().unwrap_or_default());
        let conflict = match *source == first {
            true => OutputConflict::Ways(file, source),
            false => OutputConflict::Sources(file, &first, source),
        };
        Err(conflict.finding())
    }

    /// Notes a library, in the same way.
    pub fn library(&self, output: &Path, name: &str, how: &str) -> Result<(), Finding> {
        self.once(output, "library", name, how)
    }

    /// Notes a module of Rust, in the same way.
    pub fn module(&self, output: &Path, name: &str, text: &str) -> Result<(), Finding> {
        self.once(output, "module", name, text)
    }

    fn once(
        &self,
        output: &Path,
        kind: &'static str,
        name: &str,
        how: &str,
    ) -> Result<(), Finding> {
        match self.noted(output, Path::new(name), how) {
            None => Ok(()),
            Some(_) => Err(OutputConflict::Product(kind, name).finding()),
        }
    }

    /// What it was made of before. The same once more does no harm.
    fn noted(&self, output: &Path, source: &Path, how: &str) -> Option<PathBuf> {
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
