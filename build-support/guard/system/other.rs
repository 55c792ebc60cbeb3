//! Systems that the guard does not know: it answers `platform-unsupported` there and touches nothing.

use crate::runtime::facts::linked_in::LinkedIn;
use std::ffi::{OsString, c_void};
use std::path::{Path, PathBuf};

pub use crate::runtime::system::not_linux::*;

/// Whether the guard knows this system.
pub const SUPPORTED: bool = false;
/// The variable that names directories to the loader.
pub const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// There is none.
#[derive(Clone, Copy, Debug)]
pub struct Library {}

impl Library {
    /// There is none.
    pub fn within(_functions: LinkedIn) -> Self {
        Self {}
    }

    /// Always an error.
    pub fn open(name: &str) -> Result<Self, String> {
        Err(format!("cannot open {} on this system", name))
    }

    /// Always an error.
    pub fn open_file(path: &Path) -> Result<Self, String> {
        Err(format!("cannot open {} on this system", path.display()))
    }

    /// Always none.
    pub fn loaded(_name: &str) -> Option<Self> {
        None
    }

    /// Always none.
    pub fn loaded_file(_path: &Path) -> Option<Self> {
        None
    }

    /// Always none.
    pub fn symbol(&self, _name: &str) -> Option<*mut c_void> {
        None
    }

    /// Always none.
    pub fn path(&self) -> Option<PathBuf> {
        None
    }
}

/// Always empty.
pub fn mapped() -> Vec<PathBuf> {
    Vec::new()
}

/// Always so.
pub fn is_program() -> bool {
    true
}

/// Always empty.
pub fn search_path() -> Vec<PathBuf> {
    Vec::new()
}

/// Always none.
pub fn program_paths() -> (Option<OsString>, Option<OsString>) {
    (None, None)
}

/// The variable as it is.
pub fn given_environment(name: &str) -> Option<OsString> {
    first_environment(name)
}

/// Whether two names are the same.
pub fn same_file(one: &Path, other: &Path) -> bool {
    one == other
}

/// Always true.
pub fn stderr_is_open() -> bool {
    true
}

/// What can be read of the bytes.
pub fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes into a file as it stands.
pub fn write_in_place(path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::write(path, text)
}
