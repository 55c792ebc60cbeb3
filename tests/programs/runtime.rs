//! The guard in complete programs, on the simulator.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod child;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod crashes;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod crowds;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod denied;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod guard;
#[cfg(target_os = "linux")]
pub mod matrix;
#[cfg(target_os = "linux")]
pub mod memcheck;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod quiet;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod soak;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod stderr;
