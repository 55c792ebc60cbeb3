//! The findings about missing libraries of `.libs(..)`.

use crate::model::{Candidate, Os, Platform};
use crate::runtime::facts::Finding;
use crate::runtime::facts::nearest::edits;
use crate::toolkit::package_names::{PACKAGES, of_header, package};

/// Libraries that NVIDIA ships only for Linux.
const LINUX_ONLY: [&str; 5] = ["nccl", "nvshmem_host", "culibos", "cufile", "cufile_rdma"];

/// A missing library or header. A package has one name in NVIDIA's repositories and on conda, given without its suffix,
/// and another on PyPI, given without `nvidia-`.
#[derive(Debug)]
pub enum Missing<'a> {
    Misspelled(&'a str, &'static str),
    /// A library that NVIDIA does not ship for Windows.
    LinuxOnly(&'a str),
    /// A library, with its package.
    Library(&'a str, (&'static str, &'static str)),
    /// The stub for `.libs(["cuda"])`, which programs are linked with instead of the driver. `true` if its functions
    /// have to be read.
    DriverStub(bool),
    /// Headers, with their package.
    Headers(Vec<&'a String>, (&'static str, &'static str)),
}

/// Returns the finding about a library that is neither in the toolkit nor in the linker's default directories. Names
/// that do not resemble one of CUDA's are left to the linker, which may know their directory. `is_read` means that the
/// build reads the functions of the library.
pub fn finding(
    candidate: &Candidate,
    name: &str,
    platform: &Platform,
    is_read: bool,
) -> Option<Finding> {
    let close = |names: &[&'static str]| names.iter().copied().find(|known| is_close(known, name));
    let missing = match package(name) {
        _ if platform.os == Os::Windows && LINUX_ONLY.contains(&name) => Missing::LinuxOnly(name),
        // The linker fails unless the build script adds another directory that contains the driver's library.
        None if name == "cuda" && platform.os == Os::Linux => Missing::DriverStub(is_read),
        Some(package) => Missing::Library(name, package),
        None => Missing::Misspelled(name, PACKAGES.iter().find_map(|(names, ..)| close(names))?),
    };
    Some(missing.finding(candidate, candidate.toolkit()?, platform.os))
}

/// Returns the note about missing headers of the libraries in `.libs(..)`, which Rust bindings do not need.
pub fn headers(candidate: &Candidate, platform: &Platform) -> Option<Finding> {
    let toolkit = candidate.toolkit()?;
    let mut names = Vec::new();
    for name in &toolkit.absent {
        if name.ends_with(".h") {
            names.push(name);
        }
    }
    let header = names.first().filter(|_| !toolkit.include_dirs.is_empty())?;
    let package = of_header(header)?;
    let missing = Missing::Headers(names, package);
    Some(missing.finding(candidate, toolkit, platform.os))
}

/// Returns `true` if the names are equal except for case, two swapped letters, or one extra, missing or wrong letter.
fn is_close(known: &str, name: &str) -> bool {
    let bare = name.trim_start_matches("lib");
    let bare = bare.split(".so").next().unwrap_or(bare).to_lowercase();
    let known = known.to_lowercase();
    let sorted = |text: &str| {
        let mut letters = text.as_bytes().to_vec();
        letters.sort_unstable();
        letters
    };
    match edits(&known, &bare) {
        0 | 1 => true,
        2 => sorted(&known) == sorted(&bare),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_one_typo_is_close() {
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
