//! The model of the system's loader: which cuDNN it takes, why it takes that one, and what it reports if it takes none.

pub mod cudarc_eager;
#[cfg(any(windows, feature = "build"))]
pub mod dll;
pub mod elf;
pub mod file_name;
pub mod library_names;
pub mod load_origin;
pub mod map_failures;
pub mod misplaced;
pub mod not_found;
pub mod opener;
pub mod refused_library;
pub mod search_path;
pub mod unlinked;

/// The places where a library may be and the system does not search.
#[cfg(windows)]
pub use self::dll::misplaced as off_the_way;
#[cfg(not(windows))]
pub use self::elf::misplaced as off_the_way;

/// The words of the system when it refuses a library.
#[cfg(windows)]
pub use self::dll::imports as loader_words;
#[cfg(not(windows))]
pub use self::elf::dlerror_messages as loader_words;
