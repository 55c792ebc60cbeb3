//! The archives for static linking of CUDA and cuDNN.
//!
//! NVIDIA's list: <https://docs.nvidia.com/deeplearning/cudnn/installation/latest/build-run-cudnn.html>. Sub-libraries
//! of cuDNN depend on each other in a cycle and register engines in constructors, so all of their objects are linked.

use crate::model::Os;
use crate::runtime::facts::{SubLibrary, sub_libraries};
use crate::toolkit::package_names;

/// A requested archive. The first name that exists is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// Names without `lib` and `.a`.
    pub names: Vec<String>,
    /// Set if linking fails without it.
    pub needed: bool,
    /// A description of what needs it.
    pub by: String,
}

/// Returns the archives of a cuDNN. There are none for Windows.
pub fn cudnn(major: u32) -> Vec<Archive> {
    let known = sub_libraries::of_major(major);
    // Each archive precedes those that it calls.
    let mut archives = Vec::new();
    for order in 0..u8::MAX {
        let at = |part: &&&SubLibrary| part.archive.is_some_and(|it| it.link_order == order);
        let Some(SubLibrary { name, archive, .. }) = known.iter().find(at) else {
            break;
        };
        archives.push(Archive {
            names: vec![
                format!("cudnn_{name}_static_v{major}"),
                format!("cudnn_{name}_static"),
            ],
            needed: archive.is_some_and(|archive| archive.needed),
            by: format!("cuDNN {major}"),
        });
    }
    archives
}

/// Returns the names of the single archive that cuDNN up to 8.2 consists of.
pub fn cudnn_in_one(major: u32) -> Vec<String> {
    vec![format!("cudnn_static_v{major}"), "cudnn_static".into()]
}

/// Returns the archives of the toolkit in link order, each before those that it calls, and the libraries that exist
/// only as shared libraries.
pub fn cuda(libs: &[String], cudnn: Option<u32>, os: Os) -> (Vec<Archive>, Vec<String>) {
    let mut archives: Vec<Archive> = Vec::new();
    let mut shared = Vec::new();
    let mut require = |short: &str, needed: bool, by: &str| {
        let mut names = vec![short.to_string()];
        // These exist only as archives.
        if !["culibos", "cudadevrt"].contains(&short) && !short.ends_with("_static") {
            names.insert(0, format!("{short}_static"));
        }
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
            require("cublas", true, &by);
        }
        require("cublasLt", true, &by);
        require("culibos", os == Os::Linux, &by);
        // NVIDIA lists them since 9. Versions of 8 differ, so for them they are linked if they exist.
        for name in ["nvrtc", "nvrtc-builtins", "nvptxcompiler"] {
            require(name, major > 8, &by);
        }
    }
    for name in libs {
        if ["cuda", "nvidia-ml"].contains(&name.as_str()) {
            // The driver's libraries belong to the machine on which the program runs.
            shared.push(name.clone());
            continue;
        }
        let by = format!("`.libs([{name:?}])`");
        require(name, true, &by);
        let (needed, optional) = companions(name.strip_suffix("_static").unwrap_or(name));
        for other in needed {
            require(other, *other != "culibos" || os == Os::Linux, &by);
        }
        for other in optional {
            require(other, false, &by);
        }
    }
    require("cudart", true, "`.link(Link::Static)`");
    (archives, shared)
}

/// Returns the archives that an archive calls: the required ones, and those that exist only in some versions.
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
    // An unknown archive may call the others, but none of them calls it.
    let place = order.iter().position(|known| *known == short);
    place.map_or(0, |place| place + 1)
}

/// Returns NVIDIA's packages that contain an archive of the toolkit, without the version at the end: for Debian and for
/// conda.
pub fn package(archive: &str, major: Option<u32>) -> Option<(String, String)> {
    let newer = major.is_some_and(|major| major > 12);
    let name = match archive.strip_suffix("_static").unwrap_or(archive) {
        "nvptxcompiler" if newer => {
            return Some(("libnvptxcompiler".into(), "libnvptxcompiler-dev".into()));
        }
        "nvptxcompiler" => return Some(("cuda-nvcc".into(), "cuda-nvcc-tools".into())),
        "culibos" if newer => "cuda-culibos",
        "culibos" => "cuda-cudart",
        "nvrtc-builtins" => "cuda-nvrtc",
        // They exist only as shared libraries.
        "nvblas" | "cusolverMg" => return None,
        name => package_names::package(name)?.0,
    };
    Some((format!("{name}-dev"), format!("{name}-static")))
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
    fn assert_archives(libs: &[&str], cudnn: Option<u32>, expected: &str) {
        let libs: Vec<String> = libs.iter().map(ToString::to_string).collect();
        assert_eq!(listed(&cuda(&libs, cudnn, Os::Linux).0), expected);
    }

    /// In any requested order, each archive precedes those that it calls.
    #[test]
    fn archives_are_in_the_order_of_their_calls() {
        assert_archives(&[], None, "cudart");
        let helpful = "cusparse nvJitLink? culibos? cudart";
        assert_archives(&["cusparse"], None, helpful);
        assert_archives(
            &["culibos", "cublas", "mine"],
            None,
            "mine cublas cublasLt culibos cudart",
        );
        assert_archives(
            &["cublasLt", "cusolver"],
            None,
            "cusolver cusolver_lapack? lapack? cusolver_metis? metis? cusparse cublas cublasLt nvJitLink? culibos cudart",
        );
        assert_archives(
            &[],
            Some(9),
            "cublasLt nvrtc nvrtc-builtins nvptxcompiler culibos cudart",
        );
        assert_archives(
            &[],
            Some(8),
            "cublas cublasLt nvrtc? nvrtc-builtins? nvptxcompiler? culibos cudart",
        );
    }

    #[test]
    fn the_driver_is_never_linked_statically() {
        let libs = ["cuda".to_string(), "nvrtc_static".to_string()];
        let (archives, shared) = cuda(&libs, None, Os::Linux);
        assert_eq!(shared, ["cuda"]);
        assert_eq!(
            listed(&archives),
            "nvrtc nvrtc-builtins? nvptxcompiler? cudart"
        );
    }
}
