//! Builds, the `cudnn-guard` command and the guard on Windows, under Wine.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod real_wine;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod wine;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod wine_guard;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod wine_lazy;
