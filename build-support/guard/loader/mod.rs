//! A model of the system's loader: the cuDNN that it uses, the reason, and its message if it uses none.

#[cfg(feature = "runtime")]
pub mod cudarc_eager;
#[cfg(any(windows, feature = "build"))]
pub mod dll;
pub mod elf;
pub mod file_name;
pub mod ld_so_conf;
pub mod load_origin;
#[cfg(feature = "runtime")]
pub mod misplaced;
#[cfg(feature = "runtime")]
pub mod not_found;
pub mod opener;
#[cfg(feature = "runtime")]
pub mod refused_library;
pub mod search_path;
pub mod system;

/// The places where a library may be but the system does not search.
#[cfg(all(feature = "runtime", windows))]
pub use self::dll::misplaced as off_the_way;
#[cfg(all(feature = "runtime", not(windows)))]
pub use self::elf::misplaced as off_the_way;

/// The system's messages about a library that it refuses.
#[cfg(all(feature = "runtime", windows))]
pub use self::dll::imports as loader_words;
#[cfg(all(feature = "runtime", not(windows)))]
pub use self::elf::dlerror_messages as loader_words;
#[cfg(feature = "runtime")]
pub use cudarc_eager::EagerLookup;
pub use load_origin::{LoadOrigin, PRELOADS};
#[cfg(feature = "runtime")]
pub use not_found::{FoundFile, MissingCudnn, Reach, ReachStep, Unfit};
pub use opener::Opener;
#[cfg(feature = "runtime")]
pub use refused_library::{EXECUTABLE_STACK, Refusal, RefusedLibrary};
pub use search_path::{SearchDirectory, SearchPath, dll_in, is_pipe};
pub use system::{Loader, System, hwcaps_order};
