//! Which archives a program takes in that carries CUDA and cuDNN in itself.
//!
//! NVIDIA's list: <https://docs.nvidia.com/deeplearning/cudnn/installation/latest/build-run-cudnn.html>. Its parts of
//! cuDNN call each other in a ring and find their engines by what runs before `main`: they are taken in whole.

use crate::model::platform::Os;
use crate::runtime::facts::sub_libraries::{self, SubLibrary};

/// An archive that is wanted, under the first of its names that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// The names, without `lib` and `.a`.
    pub names: Vec<String>,
    /// Whether nothing can be linked without it.
    pub needed: bool,
    /// Who needs it, in words.
    pub by: String,
}

/// The parts of a cuDNN that go into the program. None of them is for Windows.
pub fn cudnn(major: u32) -> Vec<Archive> {
    let known = sub_libraries::of_major(major);
    let mut archives = Vec::new();
    // Each comes before those that it calls.
    for order in 0..u8::MAX {
        let at = |part: &&&SubLibrary| part.archive.is_some_and(|one| one.link_order == order);
        let Some(part) = known.iter().find(at) else {
            break;
        };
        let name = part.name;
        archives.push(Archive {
            names: vec![
                format!("cudnn_{name}_static_v{major}"),
                format!("cudnn_{name}_static"),
            ],
            needed: part.archive.is_some_and(|one| one.needed),
            by: format!("cuDNN {major}"),
        });
    }
    archives
}

/// All of an old cuDNN in one archive: up to 8.2.
pub fn cudnn_in_one(major: u32) -> Vec<String> {
    vec![format!("cudnn_static_v{major}"), "cudnn_static".into()]
}

/// The archives of the toolkit, in the order in which a linker wants them: each before those that it calls. With them
/// the libraries that exist as shared ones only.
pub fn cuda(libs: &[String], cudnn: Option<u32>, os: Os) -> (Vec<Archive>, Vec<String>) {
    let mut archives: Vec<Archive> = Vec::new();
    let mut shared = Vec::new();
    let mut want = |short: &str, needed: bool, by: &str| {
        let whole = format!("{short}_static");
        let names = match short {
            // They exist as archives alone.
            "culibos" | "cudadevrt" => vec![short.to_string()],
            _ if short.ends_with("_static") => vec![short.to_string()],
            _ => vec![whole, short.to_string()],
        };
        match archives.iter_mut().find(|known| known.names == names) {
            Some(known) => known.needed |= needed,
            None => {
                let after = |known: &Archive| rank(&known.names) > rank(&names);
                let at = archives.iter().position(after).unwrap_or(archives.len());
                let by = by.to_string();
                archives.insert(at, Archive { names, needed, by });
            }
        }
    };
    if let Some(major) = cudnn {
        let by = format!("cuDNN {major}");
        if major < 9 {
            want("cublas", true, &by);
        }
        want("cublasLt", true, &by);
        want("culibos", os == Os::Linux, &by);
        // Named by NVIDIA from 9 on; of 8, whose releases differ, taken where they are.
        for name in ["nvrtc", "nvrtc-builtins", "nvptxcompiler"] {
            want(name, major > 8, &by);
        }
    }
    for name in libs {
        if ["cuda", "nvidia-ml"].contains(&name.as_str()) {
            // The driver's own libraries belong to the machine that the program runs on.
            shared.push(name.clone());
            continue;
        }
        let by = format!("`.libs([{name:?}])`");
        want(name, true, &by);
        let (needed, helpful) = companions(name.strip_suffix("_static").unwrap_or(name));
        for other in needed {
            want(other, *other != "culibos" || os == Os::Linux, &by);
        }
        for other in helpful {
            want(other, false, &by);
        }
    }
    want("cudart", true, "`.link(Link::Static)`");
    (archives, shared)
}

/// What an archive calls in others: what it cannot do without, and what only some releases have.
fn companions(name: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match name {
        "cublas" => (&["cublasLt", "culibos"], &[]),
        "cublasLt" => (&["culibos"], &[]),
        "cusolver" => (
            &["cublas", "cublasLt", "cusparse", "culibos"],
            &[
                "cusolver_lapack",
                "lapack",
                "cusolver_metis",
                "metis",
                "nvJitLink",
            ],
        ),
        "cusparse" => (&[], &["nvJitLink", "culibos"]),
        "nvrtc" => (&[], &["nvrtc-builtins", "nvptxcompiler"]),
        "cudart" | "culibos" | "cudadevrt" => (&[], &[]),
        _ => (&[], &["culibos"]),
    }
}

fn rank(names: &[String]) -> usize {
    let order = [
        "cusolver",
        "cusolver_lapack",
        "lapack",
        "cusolver_metis",
        "metis",
        "cusparse",
        "cublas",
        "cublasLt",
        "nvrtc",
        "nvrtc-builtins",
        "nvJitLink",
        "nvptxcompiler",
        "cudadevrt",
        "culibos",
        "cudart",
    ];
    let short = names.first().map_or("", String::as_str);
    let short = short.strip_suffix("_static").unwrap_or(short);
    // What is not known here calls the others, and none of them calls it.
    let place = order.iter().position(|known| *known == short);
    place.map_or(0, |place| place + 1)
}

/// The package of NVIDIA that brings an archive of the toolkit, without the release at its end: for Debian, and what
/// conda calls it.
pub fn package(archive: &str, major: Option<u32>) -> Option<(&'static str, &'static str)> {
    let newer = major.is_some_and(|major| major > 12);
    Some(match archive.strip_suffix("_static").unwrap_or(archive) {
        "cublas" | "cublasLt" => ("libcublas-dev", "libcublas-static"),
        "cusolver" => ("libcusolver-dev", "libcusolver-static"),
        "cusparse" => ("libcusparse-dev", "libcusparse-static"),
        "cufft" => ("libcufft-dev", "libcufft-static"),
        "curand" => ("libcurand-dev", "libcurand-static"),
        "nvrtc" | "nvrtc-builtins" => ("cuda-nvrtc-dev", "cuda-nvrtc-static"),
        "culibos" if newer => ("cuda-culibos-dev", "cuda-culibos-static"),
        "cudart" | "culibos" => ("cuda-cudart-dev", "cuda-cudart-static"),
        "nvptxcompiler" if newer => ("libnvptxcompiler", "libnvptxcompiler-dev"),
        "nvptxcompiler" => ("cuda-nvcc", "cuda-nvcc-tools"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(archives: &[Archive]) -> String {
        let texts: Vec<String> = archives
            .iter()
            .map(|one| {
                let name = one.names.first().map_or("", String::as_str);
                let short = name.strip_suffix("_static").unwrap_or(name);
                format!("{short}{}", if one.needed { "" } else { "?" })
            })
            .collect();
        texts.join(" ")
    }

    #[track_caller]
    fn assert_archives(libs: &[&str], cudnn: Option<u32>, os: Os, wanted: &str) {
        let libs: Vec<String> = libs.iter().map(ToString::to_string).collect();
        assert_eq!(listed(&cuda(&libs, cudnn, os).0), wanted);
    }

    /// LNK-05, LNK-12: whatever the order in which they are asked for, each stands before those that it calls.
    #[test]
    fn archives_stand_in_the_order_of_their_calls() {
        assert_archives(&[], None, Os::Linux, "cudart");
        let helpful = "cusparse nvJitLink? culibos? cudart";
        assert_archives(&["cusparse"], None, Os::Linux, helpful);
        assert_archives(
            &["culibos", "cublas", "mine"],
            None,
            Os::Linux,
            "mine cublas cublasLt culibos cudart",
        );
        assert_archives(
            &["cublasLt", "cusolver"],
            None,
            Os::Linux,
            "cusolver cusolver_lapack? lapack? cusolver_metis? metis? cusparse cublas cublasLt nvJitLink? culibos cudart",
        );
        assert_archives(
            &[],
            Some(9),
            Os::Linux,
            "cublasLt nvrtc nvrtc-builtins nvptxcompiler culibos cudart",
        );
        assert_archives(
            &[],
            Some(8),
            Os::Linux,
            "cublas cublasLt nvrtc? nvrtc-builtins? nvptxcompiler? culibos cudart",
        );
    }

    /// LNK-05: there is no culibos for Windows.
    #[test]
    fn windows_is_not_asked_for_culibos() {
        assert_archives(
            &["cublas"],
            None,
            Os::Windows,
            "cublas cublasLt culibos? cudart",
        );
    }

    #[test]
    fn the_driver_is_never_carried_along() {
        let libs = ["cuda".to_string(), "nvrtc_static".to_string()];
        let (archives, shared) = cuda(&libs, None, Os::Linux);
        assert_eq!(shared, ["cuda"]);
        assert_eq!(
            listed(&archives),
            "nvrtc nvrtc-builtins? nvptxcompiler? cudart"
        );
    }
}
