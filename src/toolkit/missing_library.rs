//! A library that a build script asks for with `.libs(..)` and that is not there.

use crate::model::candidate::{Candidate, Toolkit};
use crate::model::platform::{Os, Platform};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::toolkit::package_names::{by_distribution, is_of_wheels, package_suffix};
use std::path::PathBuf;

/// Libraries of a CUDA toolkit, each with its package: `libcurand-dev-13-0` and `libcurand-devel-13-0` of NVIDIA's
/// repositories, `libcurand-dev` of conda, `nvidia-curand` on PyPI.
const PACKAGES: [(&[&str], &str, &str); 12] = [
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

/// Returns the finding for a library that is neither in the toolkit nor where the linker looks by itself. A name that
/// is neither of CUDA nor close to one of CUDA's is left to the linker, which may know its directory.
pub fn finding(candidate: &Candidate, name: &str, platform: &Platform) -> Option<Finding> {
    let toolkit = candidate.toolkit()?;
    let mut known = PACKAGES.iter().flat_map(|(names, ..)| names.iter());
    if !known.clone().any(|known| *known == name) {
        let close = known.find(|known| is_close(known, name))?;
        let summary = format!("CUDA has no library `{name}`, which `.libs([{name:?}])` asks for");
        return Some(
            Finding::error(FindingId::LibraryNotFound, summary)
                .help(format!("write `.libs([{close:?}])` in build.rs")),
        );
    }
    let root = toolkit.root.display();
    let summary =
        format!("CUDA at `{root}` has no library `{name}`, which `.libs([{name:?}])` asks for");
    let finding = Finding::error(FindingId::LibraryNotFound, summary)
        .with_lines("looked in", dirs(toolkit).iter().map(|dir| dir.display()));
    Some(finding.help(install(candidate, toolkit, package(name)?, platform)))
}

/// Returns the package of a library as NVIDIA's repositories and conda name it, without its ending, and the wheel.
pub fn package(library: &str) -> Option<(&'static str, &'static str)> {
    let mut packages = PACKAGES.iter();
    let (_, package, wheel) = packages.find(|(names, ..)| names.contains(&library))?;
    Some((package, wheel))
}

fn dirs(toolkit: &Toolkit) -> Vec<PathBuf> {
    let dirs = toolkit.link_dirs.iter().chain(&toolkit.stub_dirs);
    dirs.cloned().collect()
}

/// Returns the note for headers that a library of `.libs(..)` is used by and that the toolkit does not have. Bindings
/// for Rust need none.
pub fn headers(candidate: &Candidate, platform: &Platform) -> Option<Finding> {
    let toolkit = candidate.toolkit()?;
    let mut headers = toolkit.absent.iter().filter(|name| name.ends_with(".h"));
    let header = headers
        .next()
        .filter(|_| !toolkit.include_dirs.is_empty())?;
    let summary = format!("CUDA at `{}` has no `{header}`", toolkit.root.display());
    let finding = Finding::note(FindingId::PartialToolkit, summary).with_lines("nor", headers);
    let package = PACKAGES
        .iter()
        .find(|(names, ..)| names.iter().any(|name| header.starts_with(name)));
    let (_, package, wheel) = package?;
    Some(finding.help(install(candidate, toolkit, (package, wheel), platform)))
}

/// Returns what installs the package of a library beside the toolkit, as whoever installed the toolkit names it.
fn install(
    candidate: &Candidate,
    toolkit: &Toolkit,
    (package, wheel): (&str, &str),
    platform: &Platform,
) -> String {
    let version = toolkit.version;
    if candidate.via.is_fetched() {
        let major = version.map_or(13, |version| version.major);
        return format!(
            "install the whole toolkit, since `cudnn-guard fetch` brings cuBLAS and NVRTC alone: from NVIDIA, or with \
             `pip install 'cuda-toolkit[all]=={major}.*' nvidia-cudnn-cu{major}` in a virtual environment"
        );
    }
    if is_of_wheels(&toolkit.root) {
        return match version.map(|version| version.major) {
            Some(major @ ..13) => format!("run `pip install nvidia-{wheel}-cu{major}`"),
            _ => format!("run `pip install nvidia-{wheel}`"),
        };
    }
    if candidate.via.is_conda() {
        return format!("run `conda install -c conda-forge {package}-dev`");
    }
    if platform.os == Os::Windows {
        return format!("add `{wheel}_dev` with NVIDIA's installer");
    }
    if toolkit.root.ends_with("usr") {
        return "install the distribution's whole toolkit: `nvidia-cuda-toolkit` (Debian, Ubuntu)"
            .into();
    }
    let release = package_suffix(version);
    let (debian, fedora) = (
        format!("`{package}-dev{release}`"),
        format!("`{package}-devel{release}`"),
    );
    format!("install {}", by_distribution(&debian, &fedora))
}

/// Whether a name is another one in other letters of the same kind, with two of them swapped, or with one too many, too
/// few or wrong.
fn is_close(known: &str, name: &str) -> bool {
    let bare = name.trim_start_matches("lib");
    let bare = bare.split(".so").next().unwrap_or(bare).to_lowercase();
    let (known, name): (Vec<char>, Vec<char>) = (
        known.to_lowercase().chars().collect(),
        bare.chars().collect(),
    );
    let start = known
        .iter()
        .zip(&name)
        .take_while(|(one, other)| one == other)
        .count();
    let (known, name) = (&known[start..], &name[start..]);
    let end = known
        .iter()
        .rev()
        .zip(name.iter().rev())
        .take_while(|(one, other)| one == other)
        .count();
    let (known, name) = (&known[..known.len() - end], &name[..name.len() - end]);
    match (known, name) {
        ([a, b], [c, d]) => (a, b) == (d, c),
        _ => known.len() <= 1 && name.len() <= 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_one_slip_is_close() {
        for name in [
            "cublsa",
            "cubla",
            "cublass",
            "libcublas.so",
            "CUBLAS",
            "cuvlas",
        ] {
            assert!(is_close("cublas", name), "{name}");
        }
        assert!(is_close("cublasLt", "cublaslt"));
        for name in [
            "cudnn",
            "nccl",
            "cuda",
            "nvjpeg2k",
            "cutensor",
            "cudss",
            "nvToolsExt",
        ] {
            for (names, ..) in &PACKAGES {
                for known in *names {
                    assert!(!is_close(known, name), "{known} {name}");
                }
            }
        }
    }
}
