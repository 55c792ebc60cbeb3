//! Which cuDNN the system's loader takes, why it takes that one, and what it says where it takes none.

pub mod cudarc_eager;
pub mod dlerror_messages;
#[cfg(any(windows, feature = "build"))]
pub mod later_dll;
pub mod ld_so_cache;
pub mod library_names;
pub mod load_origin;
pub mod locate;
pub mod map_failures;
pub mod opener;
pub mod refusal;
pub mod unlinked;

#[cfg(windows)]
pub mod dll_imports;
#[cfg(any(windows, feature = "build"))]
pub mod dll_misplaced;
#[cfg(windows)]
pub mod dll_search_path;
#[cfg(windows)]
pub use self::dll_misplaced as misplaced;
#[cfg(windows)]
pub use self::dll_search_path as search_path;

#[cfg(not(windows))]
pub mod misplaced;
#[cfg(not(windows))]
pub mod search_path;
