//! What other systems than Linux do not have, or do in the plain way of the standard library.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns no file: none that is mapped is deleted or replaced.
pub fn replaced(_asked: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    Vec::new()
}

/// Does nothing: there are no locks that a child could inherit.
pub fn pass_locks() {}

/// Returns `false`: no program has more rights than whoever started it.
pub fn is_privileged() -> bool {
    false
}

/// Returns the variable as it is now: the loader asks for it each time.
pub fn first_environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns what lies there.
pub fn metadata(path: &Path) -> std::io::Result<std::fs::Metadata> {
    std::fs::metadata(path)
}

/// Returns `None`: it is not known.
pub fn stack_left() -> Option<usize> {
    None
}

/// Returns that there is no limit to the bytes of a file.
pub fn most_in_a_file() -> u64 {
    u64::MAX
}
