//! NVIDIA's own files: CUDNN_GUARD_REAL is the folder of `.ci/wheels.py`, with one folder per wheel
//! (`pip install --target <folder>/cudnn-<flavour>-<release> nvidia-cudnn-<flavour>==<release>`).

#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod cudarc;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod faults;
pub mod fetch;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod jit;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod lazy;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod matrix;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod mixed_wheels;
pub mod mixes;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod names;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod onnxruntime;
pub mod programs;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod python;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod releases;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod signatures;

use std::path::PathBuf;

/// Returns a directory of `.ci/wheels.py`.
pub fn set(name: &str) -> PathBuf {
    let root = std::env::var_os("CUDNN_GUARD_REAL");
    PathBuf::from(root.expect("CUDNN_GUARD_REAL is the directory of .ci/wheels.py")).join(name)
}
