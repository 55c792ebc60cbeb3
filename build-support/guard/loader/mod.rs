//! Which cuDNN the system's loader takes, why it takes that one, and what it says where it takes none.

#[cfg(feature = "runtime")]
pub mod cudarc_eager;
#[cfg(feature = "runtime")]
pub mod dlerror_messages;
#[cfg(feature = "runtime")]
pub mod ld_so_cache;
#[cfg(feature = "runtime")]
pub mod library_names;
#[cfg(feature = "runtime")]
pub mod load_origin;
#[cfg(feature = "runtime")]
pub mod locate;
#[cfg(feature = "runtime")]
pub mod map_failures;
#[cfg(feature = "runtime")]
pub mod search_path;
