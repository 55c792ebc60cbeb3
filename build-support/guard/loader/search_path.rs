//! The search path of a loader: the directories that it searches, each with the reason.

pub use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

/// A directory that the loader searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchDirectory {
    pub origin: LoadOrigin,
    /// The directory on this machine.
    pub dir: PathBuf,
}

impl From<LoadOrigin> for SearchDirectory {
    fn from(origin: LoadOrigin) -> Self {
        Self {
            dir: origin.folder().to_path_buf(),
            origin,
        }
    }
}

impl SearchDirectory {
    /// Returns `true` if the directory is built into the loader.
    pub fn is_system(&self) -> bool {
        matches!(self.origin, LoadOrigin::System(_))
    }
}

/// The loader's search path for a library or the program. More of its methods are in `elf` and `dll`.
#[derive(Clone, Debug, Default)]
pub struct SearchPath {
    /// The directories, in the loader's order.
    pub directories: Vec<SearchDirectory>,
}

impl SearchPath {
    /// Returns `true` if this directory is searched before that of the origin, in an order that a user can change: the
    /// entries of LD_LIBRARY_PATH, and on Windows all directories.
    pub fn is_before(&self, folder: &Path, other: &LoadOrigin) -> bool {
        let is_ordered =
            |origin: &LoadOrigin| cfg!(windows) || matches!(origin, LoadOrigin::LibraryPath(_));
        for place in &self.directories {
            if !is_ordered(&place.origin) || !is_ordered(other) {
                continue;
            }
            if platform::same_file(&place.dir, folder) {
                return true;
            }
            if place.dir == other.folder() {
                return false;
            }
        }
        false
    }

    /// Returns `true` if the directory of a file is searched before the directory of the other.
    pub fn leads_first(&self, file: &Path, other: &Path) -> bool {
        let is_in = |file: &Path, place: &SearchDirectory| {
            let dir = file.parent();
            dir.is_some_and(|dir| platform::same_file(dir, &place.dir))
        };
        let mut places = self.directories.iter();
        let first = places.find(|place| is_in(file, place) || is_in(other, place));
        first.is_some_and(|place| is_in(file, place))
    }
}
