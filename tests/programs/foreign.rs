//! Other CPUs: programs for aarch64 under qemu, and kernels for them.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod cross;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod qemu;
