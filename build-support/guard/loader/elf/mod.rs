//! The loader of Linux.

pub mod candidates;
pub mod dlerror_messages;
#[cfg(not(windows))]
pub mod misplaced;
pub mod search_list;
#[cfg(not(windows))]
pub mod search_path;
