//! The names of NVIDIA's packages.

use crate::runtime::facts::Version;
pub use crate::runtime::facts::fetch_dir::FETCH_MARKER;
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

/// A package's name in NVIDIA's repositories and on conda, and its wheel without `nvidia-`.
pub type Package<'a> = (&'a str, &'a str);

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

/// The beginnings of header names that are not names of libraries, with the packages of the headers.
const HEADERS: [(&[&str], &str, &str); 3] = [
    (&["crt/"], "cuda-crt", "cuda-crt"),
    (&["cuda_runtime"], "cuda-cudart", "cuda-runtime"),
    (
        &["nv/", "cuda/std/", "thrust/", "cub/"],
        "cuda-cccl",
        "cuda-cccl",
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

/// Returns the options of `cudnn-guard fetch` that install these wheels, or `None` if it does not install one of them.
pub fn fetch_options(packages: &[Package]) -> Option<String> {
    let mut options = String::new();
    for (_, wheel) in packages {
        match wheel {
            &"" | &"cuda-cupti" | &"cufile" => return None,
            _ if FETCHED_ON_REQUEST.contains(wheel) => options += &format!(" --with {wheel}"),
            _ => {}
        }
    }
    Some(options)
}

/// Returns a library's package in NVIDIA's repositories and on conda, without its suffix, and its wheel.
pub fn package(library: &str) -> Option<Package<'static>> {
    let mut packages = PACKAGES.iter();
    let (_, package, wheel) = packages.find(|(names, ..)| names.contains(&library))?;
    Some((package, wheel))
}

/// Returns the package and the wheel of a header, like [`package`].
pub fn of_header(header: &str) -> Option<Package<'static>> {
    let mut packages = HEADERS.iter().chain(&PACKAGES);
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
