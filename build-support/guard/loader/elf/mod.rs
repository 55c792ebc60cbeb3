//! The loader of Linux.

pub mod candidates;
pub mod dlerror_messages;
#[cfg(not(windows))]
pub mod misplaced;
#[cfg(not(windows))]
pub mod search_path;
