//! The loader of Windows.

#[cfg(all(feature = "runtime", windows))]
pub mod imports;
#[cfg(feature = "runtime")]
pub mod misplaced;
#[cfg(windows)]
pub mod search_path;
