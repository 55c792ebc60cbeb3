//! What is called otherwise on Linux than on Windows.

/// The driver's library, by the name that CUDA opens.
pub const DRIVER: &str = by_system!("libcuda.so.1", "nvcuda.dll");
/// Where WSL puts it. On Windows anybody may make that directory.
pub const DRIVER_IN_WSL: Option<&str> = by_system!(Some("/usr/lib/wsl/lib/libcuda.so.1"), None);
/// Who looks for libraries.
pub const LOADER: &str = by_system!("the loader", "Windows");
