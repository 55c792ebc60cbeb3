//! The loader of Linux.

pub mod dlerror_messages;
pub mod ld_so_cache;
#[cfg(not(windows))]
pub mod misplaced;
#[cfg(not(windows))]
pub mod search_path;
