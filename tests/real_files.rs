//! NVIDIA's own files: CUDNN_GUARD_REAL is the folder of `.ci/wheels.py`, with one folder per wheel
//! (`pip install --target <folder>/cudnn-<flavour>-<release> nvidia-cudnn-<flavour>==<release>`).
//! One program, since nothing of it runs where the files are not: to link it costs everybody's `cargo test`.
#![cfg(all(feature = "cli", unix))]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests touch the machine"
)]

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(dead_code, reason = "the tests of the guard use the rest")]
mod guard {
    pub mod convolution;
    pub mod driver;
    #[cfg(target_arch = "x86_64")]
    pub mod farm;
    pub mod program;
}
mod real {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub mod candle;
    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    pub mod faults;
    pub mod fetch;
    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    pub mod jit;
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    pub mod matrix;
    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    pub mod mixes;
    pub mod programs;
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    pub mod reference;
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    pub mod releases;
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    pub mod signatures;
}
mod support;
