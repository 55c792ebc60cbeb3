//! The differences between operating systems: the libraries of this process, and the loader's search path.

/// Selects the expression for Linux or for Windows. The program contains only that for its system.
macro_rules! by_system {
    ($linux:expr, $windows:expr $(,)?) => {
        if cfg!(windows) { $windows } else { $linux }
    };
}
pub(crate) use by_system;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::SystemTime;

pub mod names;
pub mod not_linux;
pub mod path_cache;
pub mod proc;

pub fn is_file(path: &Path) -> bool {
    path_cache::metadata(path).is_ok_and(|data| data.is_file())
}

/// Returns a number that differs in each process and at each time. The random numbers of the standard library panic where
/// a sandbox refuses them.
pub fn unique_number() -> u64 {
    let mut hasher = DefaultHasher::new();
    (std::process::id(), SystemTime::now()).hash(&mut hasher);
    hasher.finish()
}

pub fn is_there(path: &Path) -> bool {
    path_cache::metadata(path).is_ok()
}

/// The loader and the C library of this process. `platform.rs` is for systems that the guard does not support.
#[cfg_attr(
    all(
        target_os = "linux",
        target_env = "gnu",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ),
    path = "linux/mod.rs"
)]
#[cfg_attr(windows, path = "windows.rs")]
pub mod platform;

pub use self::path_cache::{PathCache, canonical, link_metadata, metadata, read_link};
pub use self::platform::Library;
pub use names::{DRIVER, DRIVER_DLL, DRIVER_IN_WSL, DRIVER_SO, LOADER};
