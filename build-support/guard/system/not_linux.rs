//! Functions that other systems than Linux do not need, or implement with the standard library.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Returns no file: mapped files cannot be deleted or replaced.
pub fn replaced(_filter: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    Vec::new()
}

/// Does nothing: there are no locks that a child could inherit.
pub fn pass_locks() {}

/// Returns `false`: no program has more privileges than its user.
pub fn is_privileged() -> bool {
    false
}

/// Returns the current value: the loader reads the variable each time.
pub fn first_environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

pub fn metadata(path: &Path) -> std::io::Result<std::fs::Metadata> {
    std::fs::metadata(path)
}

/// Returns `None`: it is not known.
pub fn stack_left() -> Option<usize> {
    None
}

/// Sleeps for this time, and returns `true`.
pub fn pause(time: Duration) -> bool {
    std::thread::sleep(time);
    true
}

/// Returns the largest number: there is no limit.
pub fn most_in_a_file() -> u64 {
    u64::MAX
}
