//! The loader of Linux.

pub mod candidates;
#[cfg(feature = "runtime")]
pub mod dlerror_messages;
#[cfg(all(not(windows), feature = "runtime"))]
pub mod misplaced;
#[cfg(all(not(windows), feature = "runtime"))]
pub mod origin;
pub mod search_list;
#[cfg(not(windows))]
pub mod search_path;
