//! The libraries that the system's loader selects: ld.so on Linux, the DLL search order on Windows.

pub mod dll_search;
pub mod elsewhere;
#[cfg(feature = "cli")]
pub mod ldso;
#[cfg(feature = "cli")]
pub mod linkage;
#[cfg(feature = "cli")]
pub mod main_library;
pub mod shadowing;

pub use dll_search::{DllDependencies, DllSearchPath, MissingDll};
#[cfg(feature = "cli")]
pub use ldso::LoadGraph;
pub use shadowing::{PathFault, ShadowingLibrary, named_path};
#[cfg(all(test, feature = "cli"))]
mod tests;
