//! What is called otherwise on Linux than on Windows.

/// The driver's library on Linux, which every machine with a GPU has of its own.
pub const DRIVER_SO: &str = "libcuda.so.1";
/// The driver's library on Windows.
pub const DRIVER_DLL: &str = "nvcuda.dll";
/// The driver's library, by the name that CUDA opens.
pub const DRIVER: &str = by_system!(DRIVER_SO, DRIVER_DLL);
/// Where WSL puts it. On Windows anybody may make that directory.
pub const DRIVER_IN_WSL: Option<&str> = by_system!(Some("/usr/lib/wsl/lib/libcuda.so.1"), None);
/// Who looks for libraries.
pub const LOADER: &str = by_system!("the loader", "Windows");
