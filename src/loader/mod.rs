//! The libraries that the loader of a system would take, and why: ld.so on Linux, the search order of DLLs on
//! Windows.

#[cfg(feature = "cli")]
pub mod config;
pub mod dll_dependencies;
pub mod dll_search;
#[cfg(feature = "cli")]
pub mod ldso;
#[cfg(feature = "cli")]
pub mod linkage;
#[cfg(feature = "cli")]
pub mod main_library;
pub mod path_shadowing;
#[cfg(feature = "cli")]
pub mod search_order;
pub mod shadowing;
