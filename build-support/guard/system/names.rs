//! Names that differ between Linux and Windows.

/// The driver's library on Linux, which belongs to the machine, not to the toolkit.
pub const DRIVER_SO: &str = "libcuda.so.1";
/// The driver's library on Windows.
pub const DRIVER_DLL: &str = "nvcuda.dll";
/// The driver's library, by the name that CUDA opens.
pub const DRIVER: &str = by_system!(DRIVER_SO, DRIVER_DLL);
/// The driver's library in WSL; `None` on Windows, where any user may create that directory.
pub const DRIVER_IN_WSL: Option<&str> = by_system!(Some("/usr/lib/wsl/lib/libcuda.so.1"), None);
/// The name of the loader in messages.
pub const LOADER: &str = by_system!("the loader", "Windows");
