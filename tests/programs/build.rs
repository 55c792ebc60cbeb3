//! Builds of whole crates: messages, links, and when cargo runs a build script again.

#[cfg(unix)]
pub mod consumers;
#[cfg(unix)]
pub mod generated;
#[cfg(unix)]
pub mod kernels;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod kills;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod lazy;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod links;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod majors;
#[cfg(unix)]
pub mod messages;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod paths;
#[cfg(unix)]
pub mod reruns;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod vendored;
