//! The loader of Linux.

pub mod candidates;
#[cfg(feature = "runtime")]
pub mod dlerror_messages;
#[cfg(all(feature = "runtime", not(windows)))]
pub mod misplaced;
pub mod search_list;
#[cfg(not(windows))]
pub mod search_path;
