//! The libraries that one cuDNN consists of: which there must be, which are there, of which release each is.

#[cfg(feature = "runtime")]
pub mod dlopen_dependencies;
#[cfg(feature = "runtime")]
pub mod file_versions;
#[cfg(feature = "runtime")]
#[cfg(any(windows, feature = "build"))]
pub mod later_dll;
#[cfg(feature = "runtime")]
pub mod main_library;
#[cfg(feature = "runtime")]
pub mod missing_dlopen;
#[cfg(feature = "runtime")]
pub mod missing_parts;
pub mod mixed_folder;
#[cfg(feature = "runtime")]
pub mod mixed_parts;
#[cfg(feature = "runtime")]
pub mod part_files;
#[cfg(feature = "runtime")]
pub mod part_lookup;
#[cfg(feature = "runtime")]
pub mod refusal;
pub mod release;
#[cfg(feature = "runtime")]
#[cfg(windows)]
pub mod zlib;
