//! A file that the loader finds and refuses, or will refuse.

use crate::runtime::binary::Image;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::{Finding, FindingId};
use crate::runtime::install::mixed_sub_libraries::Foreign;
use crate::runtime::install::package_owner;
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::loader::{loader_words, map_failures};
use std::path::Path;

/// A file of a cuDNN that this process cannot load.
pub struct UnusableFile<'a> {
    pub path: &'a Path,
    pub defect: &'a Defect,
    pub need: Need<'a>,
    /// The command that installs its package again, if that replaces the file.
    pub reinstall: Option<String>,
}

/// The need for a file that cannot be loaded.
pub enum Need<'a> {
    Refused(&'a str),
    /// The program opens it. The loader searches its directory for this reason.
    Opened(LoadOrigin),
    /// A convolution or the program needs it.
    Needed,
    /// A convolution or the program needs it, and the loader uses it instead of the valid file in this directory, which
    /// is that of the main library.
    Foreign(Foreign<'a>, &'a Path),
    /// Nothing that is known needs it.
    Unneeded,
}

impl<'a> UnusableFile<'a> {
    /// Creates the fault, with the command that reinstalls the package.
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

/// Returns the finding about a file that the program would open, if opening it could kill or block the process.
pub fn unsafe_file(path: &Path, defect: &Defect, search_path: &SearchPath) -> Option<Finding> {
    let need = || Need::Opened(search_path.origin_of(path));
    let is_unsafe = defect.is_unsafe();
    is_unsafe.then(|| UnusableFile::new(path, defect, need()).finding())
}

/// Returns the finding for the loader's message about a file. The message begins with the file that it did not find.
pub fn finding(path: &Path, message: &str) -> Finding {
    let named = message.split(": ").next().unwrap_or(message);
    if let Some(failure) = map_failures::find(message, &|_| None) {
        return failure.finding();
    }
    let file = Path::new(named);
    let file = if file.is_absolute() { file } else { path };
    if let Some(reason) = map_failures::unread(message) {
        let defect = Defect::Unreadable(reason.into());
        return UnusableFile::new(file, &defect, Need::Refused(message)).finding();
    }
    match Image::open(file) {
        // A file that does not exist proves nothing.
        Err(defect) if !matches!(defect, Defect::Unreadable(_)) => {
            UnusableFile::new(file, &defect, Need::Refused(message)).finding()
        }
        _ => loader_words::refused(path, message).finding(),
    }
}
