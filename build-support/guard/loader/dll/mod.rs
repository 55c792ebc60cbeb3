//! The loader of Windows.

#[cfg(windows)]
pub mod imports;
pub mod misplaced;
#[cfg(windows)]
pub mod search_path;
