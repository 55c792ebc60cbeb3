//! The names of NVIDIA's packages.

pub use crate::runtime::facts::fetch_dir::FETCH_MARKER;
use crate::runtime::facts::{Version, quoted};
use crate::system::files;
use std::path::Path;

/// The libraries of `cudnn-guard fetch --with`, by their extras of the project `cuda-toolkit` on PyPI. These are also
/// the names of their wheels without `nvidia-`, and of their directories up to CUDA 12. A library comes after those
/// that it needs.
pub const FETCHED_ON_REQUEST: [&str; 7] = [
    "nvjitlink",
    "curand",
    "cufft",
    "cusparse",
    "cusolver",
    "npp",
    "nvjpeg",
];

/// Libraries of a CUDA toolkit, each with its package: `libcurand-dev-13-0` and `libcurand-devel-13-0` in NVIDIA's
/// repositories, `libcurand-dev` on conda, `nvidia-curand` on PyPI.
pub const PACKAGES: [(&[&str], &str, &str); 12] = [
    (&["cudart"], "cuda-cudart", "cuda-runtime"),
    (&["cublas", "cublasLt", "nvblas"], "libcublas", "cublas"),
    (&["cufft", "cufftw"], "libcufft", "cufft"),
    (&["cufile", "cufile_rdma"], "libcufile", "cufile"),
    (&["cupti"], "cuda-cupti", "cuda-cupti"),
    (&["curand"], "libcurand", "curand"),
    (&["cusolver", "cusolverMg"], "libcusolver", "cusolver"),
    (&["cusparse"], "libcusparse", "cusparse"),
    (&["nvJitLink"], "libnvjitlink", "nvjitlink"),
    (&["nvjpeg"], "libnvjpeg", "nvjpeg"),
    (&["nvrtc"], "cuda-nvrtc", "cuda-nvrtc"),
    (
        &[
            "nppc", "nppial", "nppicc", "nppidei", "nppif", "nppig", "nppim", "nppist", "nppisu",
            "nppitc", "npps",
        ],
        "libnpp",
        "npp",
    ),
];

/// Returns the directory of `cudnn-guard fetch` that contains a toolkit.
pub fn fetch_home(toolkit: &Path) -> Option<&Path> {
    let mut dir = toolkit;
    for _ in 0..2 {
        dir = dir.parent()?;
        if files::is_file(&dir.join(FETCH_MARKER)) {
            return Some(dir);
        }
    }
    None
}

/// Returns the command that fetches a toolkit with this wheel again, if `cudnn-guard fetch` installed it. The inner
/// value is `None` if it does not install the wheel.
pub fn fetch_command(toolkit: &Path, wheel: &str) -> Option<Option<String>> {
    const ALWAYS: [&str; 7] = [
        "cublas",
        "cuda-cccl",
        "cuda-crt",
        "cuda-nvcc",
        "cuda-nvrtc",
        "cuda-runtime",
        "nvvm",
    ];
    let home = quoted(&fetch_home(toolkit)?.to_string_lossy());
    Some(match wheel {
        _ if ALWAYS.contains(&wheel) => Some(format!("cudnn-guard fetch --to {home}")),
        _ if FETCHED_ON_REQUEST.contains(&wheel) => {
            Some(format!("cudnn-guard fetch --with {wheel} --to {home}"))
        }
        _ => None,
    })
}

/// Returns a library's package in NVIDIA's repositories and on conda, without its suffix, and its wheel.
pub fn package(library: &str) -> Option<(&'static str, &'static str)> {
    let mut packages = PACKAGES.iter();
    let (_, package, wheel) = packages.find(|(names, ..)| names.contains(&library))?;
    Some((package, wheel))
}

/// Returns the package and the wheel of a library's header, like [`package`].
pub fn of_header(header: &str) -> Option<(&'static str, &'static str)> {
    let mut packages = PACKAGES.iter();
    let is_its = |name: &&str| header.starts_with(name);
    let (_, package, wheel) = packages.find(|(names, ..)| names.iter().any(is_its))?;
    Some((package, wheel))
}

/// Returns the package to install, with both names if Debian's and Fedora's differ.
pub fn by_distribution(debian: &str, fedora: &str) -> String {
    if debian == fedora {
        return debian.into();
    }
    format!("{debian} (Debian, Ubuntu) or {fedora} (Fedora, RHEL)")
}

/// Returns the package of a GCC library, which slim images do not include.
#[cfg(feature = "cli")]
pub fn of_gcc(file: &str) -> Option<String> {
    Some(match file {
        "libgomp.so.1" => by_distribution("libgomp1", "libgomp"),
        "libstdc++.so.6" => by_distribution("libstdc++6", "libstdc++"),
        "libgcc_s.so.1" => by_distribution("libgcc-s1", "libgcc"),
        _ => return None,
    })
}

/// Returns the suffix of NVIDIA's packages: `-12-8`.
pub fn package_suffix(version: Option<Version>) -> String {
    version.map_or_else(String::new, |version| {
        format!("-{}-{}", version.major, version.minor)
    })
}

/// Returns `true` if a toolkit consists of NVIDIA's wheels.
pub fn is_of_wheels(root: &Path) -> bool {
    root.ends_with("nvidia") || root.parent().is_some_and(|up| up.ends_with("nvidia"))
}
