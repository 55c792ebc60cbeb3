//! Which cuDNN the system's loader takes, why it takes that one, and what it says where it takes none.

pub mod cudarc_eager;
pub mod dlerror_messages;
pub mod file_name;
pub mod ld_so_cache;
pub mod library_names;
pub mod load_origin;
pub mod map_failures;
pub mod misplaced;
pub mod not_found;
pub mod opener;
pub mod search_path;
pub mod unlinked;

#[cfg(windows)]
pub mod dll_imports;
#[cfg(any(windows, feature = "build"))]
pub mod dll_misplaced;
#[cfg(windows)]
pub mod dll_search_path;
#[cfg(not(windows))]
pub mod elf_misplaced;
#[cfg(not(windows))]
pub mod elf_search_path;

/// Where a library may lie and the system does not look.
#[cfg(windows)]
pub use self::dll_misplaced as off_the_way;
#[cfg(not(windows))]
pub use self::elf_misplaced as off_the_way;

/// What the system says when it refuses a library.
#[cfg(not(windows))]
pub use self::dlerror_messages as loader_words;
#[cfg(windows)]
pub use self::dll_imports as loader_words;
