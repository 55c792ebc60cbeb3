//! The differences between operating systems: the libraries of this process, and the loader's search path.

/// Selects the expression for Linux or for Windows. The program contains only that for its system.
macro_rules! by_system {
    ($linux:expr, $windows:expr $(,)?) => {
        if cfg!(windows) { $windows } else { $linux }
    };
}
pub(crate) use by_system;

use std::path::Path;

pub mod names;
pub mod not_linux;
pub mod other;
pub mod proc;

pub fn is_file(path: &Path) -> bool {
    platform::metadata(path).is_ok_and(|data| data.is_file())
}

pub fn is_there(path: &Path) -> bool {
    platform::metadata(path).is_ok()
}

#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub mod linux;
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub use self::linux as platform;

#[cfg(windows)]
pub mod windows;
#[cfg(windows)]
pub use self::windows as platform;

#[cfg(not(any(
    windows,
    all(
        target_os = "linux",
        target_env = "gnu",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )
)))]
pub use self::other as platform;
