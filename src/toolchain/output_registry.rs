//! The files that one build script has made so far, so that no call overwrites what another one made.

use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

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
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        let (source, same) = (source.display(), *source == first);
        let summary = match same {
            true => format!("build.rs makes `{name}` of `{source}` twice, and not in the same way"),
            false => format!(
                "build.rs makes `{name}` of `{}`, and then again of `{source}`",
                first.display()
            ),
        };
        Err(Finding::error(FindingId::ConfigInvalid, summary).help(match same {
            true => "make a second file under another name, which defines the macros and includes this one",
            false => "name both files in one call, which keeps equal names apart",
        }))
    }

    /// Notes a library, in the same way.
    pub fn library(&self, output: &Path, name: &str, how: &str) -> Result<(), Finding> {
        self.once(output, "library", name, how)
    }

    /// Notes a module of Rust, in the same way.
    pub fn module(&self, output: &Path, name: &str, text: &str) -> Result<(), Finding> {
        self.once(output, "module", name, text)
    }

    fn once(&self, output: &Path, kind: &str, name: &str, how: &str) -> Result<(), Finding> {
        match self.noted(output, Path::new(name), how) {
            None => Ok(()),
            Some(_) => Err(Finding::error(
                FindingId::ConfigInvalid,
                format!("build.rs makes the {kind} `{name}` twice, and not in the same way"),
            )
            .help(format!(
                "name all its files in one call, or give the second {kind} another name"
            ))),
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
