//! Unsupported systems: the guard reports `platform-unsupported` and does nothing else.

use crate::runtime::facts::LinkedIn;
use std::ffi::{OsStr, OsString, c_void};
use std::path::{Path, PathBuf};

pub use crate::runtime::system::not_linux::*;

/// `true` if the guard supports this system.
pub const SUPPORTED: bool = false;
/// The variable with the loader's directories.
pub const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// A library. No value is ever created.
#[derive(Clone, Copy, Debug)]
pub struct Library {}

impl Library {
    pub fn within(_functions: LinkedIn) -> Self {
        Self {}
    }

    pub fn open(name: &str) -> Result<Self, String> {
        Err(format!("cannot open {} on this system", name))
    }

    pub fn open_file(path: &Path) -> Result<Self, String> {
        Err(format!("cannot open {} on this system", path.display()))
    }

    pub fn loaded(_name: impl AsRef<OsStr>) -> Option<Self> {
        None
    }

    pub fn symbol(&self, _name: &str) -> Option<*mut c_void> {
        None
    }

    pub fn path(&self) -> Option<PathBuf> {
        None
    }
}

pub fn mapped() -> Vec<PathBuf> {
    Vec::new()
}

pub fn is_program() -> bool {
    true
}

pub fn search_path() -> Vec<PathBuf> {
    Vec::new()
}

pub fn program_paths() -> (Option<OsString>, Option<OsString>) {
    (None, None)
}

/// Returns the current value of a variable.
pub fn given_environment(name: &str) -> Option<OsString> {
    first_environment(name)
}

pub fn same_file(one: &Path, other: &Path) -> bool {
    one == other
}

/// Converts bytes, lossily.
pub fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes to a file without replacing it.
pub fn write_in_place(path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::write(path, text)
}
