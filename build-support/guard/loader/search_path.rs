//! The way on which the loader comes to a library: the folders it looks through, and who named each of them.

pub use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::system::platform;
use std::path::Path;

/// The loader's search path for the program, each folder with who named it. How it is looked through, and so the rest of
/// it, is in `elf` and `dll`.
#[derive(Clone, Debug)]
pub struct SearchPath {
    /// In the loader's order.
    pub folders: Vec<LoadOrigin>,
}

impl SearchPath {
    /// Whether this folder is looked at before that of the origin, by an order in which the reader can put both: that of
    /// LD_LIBRARY_PATH, and on Windows that of all.
    pub fn is_before(&self, folder: &Path, other: &LoadOrigin) -> bool {
        let is_ordered =
            |origin: &LoadOrigin| cfg!(windows) || matches!(origin, LoadOrigin::LibraryPath(_));
        for origin in &self.folders {
            if !is_ordered(origin) || !is_ordered(other) {
                continue;
            }
            if platform::same_file(origin.folder(), folder) {
                return true;
            }
            if origin.folder() == other.folder() {
                return false;
            }
        }
        false
    }

    /// Whether the folder of one file comes before that of the other.
    pub fn leads_first(&self, one: &Path, other: &Path) -> bool {
        let is = |file: &Path, origin: &LoadOrigin| {
            file.parent()
                .is_some_and(|dir| platform::same_file(dir, origin.folder()))
        };
        let mut folders = self.folders.iter();
        folders
            .find(|origin| is(one, origin) || is(other, origin))
            .is_some_and(|origin| is(one, origin))
    }
}
