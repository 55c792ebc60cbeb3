//! The search path of a loader: the directories that it looks through, and what named each of them.

pub use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

/// A directory that the loader looks through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchDirectory {
    /// What named it.
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

/// The loader's search path for what one library or the program opens. The rest of it is in `elf` and `dll`.
#[derive(Clone, Debug, Default)]
pub struct SearchPath {
    /// The directories, in the loader's order.
    pub directories: Vec<SearchDirectory>,
}

impl SearchPath {
    /// Returns `true` if this folder is searched before that of the origin, by an order in which the reader can put
    /// both: that of LD_LIBRARY_PATH, and on Windows that of all.
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

    /// Returns `true` if the folder of one file comes before that of the other.
    pub fn leads_first(&self, one: &Path, other: &Path) -> bool {
        let is = |file: &Path, place: &SearchDirectory| {
            file.parent()
                .is_some_and(|dir| platform::same_file(dir, &place.dir))
        };
        let mut places = self.directories.iter();
        places
            .find(|place| is(one, place) || is(other, place))
            .is_some_and(|place| is(one, place))
    }
}
