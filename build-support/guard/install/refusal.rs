//! A file that the loader refuses, or will refuse, though it is where it is searched for.

use crate::runtime::binary::Image;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::install::package_owner;
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::loader::{loader_words, map_failures};
use std::path::Path;

/// A file of a cuDNN that this process cannot load.
pub struct UnusableFile<'a> {
    /// The file.
    pub path: &'a Path,
    /// The reason why it cannot be loaded.
    pub defect: &'a Defect,
    /// The need for it.
    pub need: Need<'a>,
    /// The command that installs its package again, if that replaces the file.
    pub reinstall: Option<String>,
}

/// The need for a file that cannot be loaded.
pub enum Need<'a> {
    /// The loader has refused it, with this message.
    Refused(&'a str),
    /// The program opens it, for this reason.
    Opened(LoadOrigin),
    /// A convolution or the program needs it.
    Needed,
    /// Nothing that is known needs it.
    Unneeded,
}

impl<'a> UnusableFile<'a> {
    /// Creates the fault, with the command of its package.
    pub fn new(path: &'a Path, defect: &'a Defect, need: Need<'a>) -> Self {
        let id = defect.id();
        let folder = path.parent().filter(|_| match defect {
            Defect::Empty | Defect::Directory => false,
            _ => id == FindingId::LibraryDamaged && !defect.is_lfs_pointer(),
        });
        Self {
            path,
            defect,
            need,
            reinstall: folder.and_then(package_owner::reinstall_command),
        }
    }
}

/// Returns the finding for the loader's message about a file. The message begins with the file that it did not find.
pub fn finding(path: &Path, words: &str) -> Finding {
    let named = words.split(": ").next().unwrap_or(words);
    if let Some(failure) = map_failures::find(words, &|_| None) {
        return failure.finding();
    }
    let file = Path::new(named);
    let file = if file.is_absolute() { file } else { path };
    match Image::open(file) {
        // A file that does not exist proves nothing.
        Err(defect) if !matches!(defect, Defect::Unreadable(_)) => {
            UnusableFile::new(file, &defect, Need::Refused(words)).finding()
        }
        _ => loader_words::refused(path, words).finding(),
    }
}
