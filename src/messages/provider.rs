//! A CUDA library of ONNX Runtime or libtorch that does not load.

use crate::inspection::provider::{Provider, ProviderFault};
use crate::model::Installer;
use crate::runtime::facts::LibraryName;
use crate::{Finding, FindingId, Version};

impl ProviderFault {
    pub fn finding(&self, of: &Provider) -> Finding {
        let path = of.path.display();
        let (framework, result) = match of.is_torch {
            false => (
                "an ONNX Runtime",
                "ONNX Runtime computes on the CPU and only logs the reason",
            ),
            true => (
                "a libtorch",
                "a program that is linked with this library does not start",
            ),
        };
        let own = of.cuda.unwrap_or_default();
        let mismatch = |summary: String| FindingId::CudaFlavourMismatch.warning(summary);
        let not_found = |summary: String| FindingId::LibraryNotFound.warning(summary);
        let (dirs, has_all, toolkit, cudnn) = match self {
            Self::NoShared(shared) => {
                let dir = of.path.parent().unwrap_or(&of.path).display();
                return not_found(format!("`{shared}` is not next to `{path}`"))
                    .help(format!(
                        "copy `{shared}` from the same ONNX Runtime into `{dir}`"
                    ))
                    .with("result", result);
            }
            Self::OtherCudnn(other) => {
                return mismatch(format!(
                    "`{path}` was built for CUDA {own}, but it loads a cuDNN that was built for CUDA {other}"
                ))
                .help(match of.is_dll {
                    true => format!("copy the DLLs of a cuDNN for CUDA {own} next to the program"),
                    false => format!(
                        "install a cuDNN for CUDA {own}, and put its directory first in LD_LIBRARY_PATH"
                    ),
                });
            }
            Self::NoLibraries(dirs, has_all, toolkit, cudnn) => (dirs, *has_all, *toolkit, *cudnn),
        };
        let names: Vec<&str> = of.missing.iter().map(|one| &*one.name).collect();
        let here = match (toolkit, cudnn) {
            (Some(one), Some(other)) if one == other => "the toolkit and cuDNN are for",
            (Some(_), _) => "the toolkit is",
            (None, _) => "cuDNN is for",
        };
        let (variable, finder) = match of.is_dll {
            true => ("PATH", "Windows"),
            false => ("LD_LIBRARY_PATH", "the loader"),
        };
        let finding = match toolkit.or(cudnn) {
            Some(major) => mismatch(format!(
                "`{path}` was built for CUDA {own}, but {here} CUDA {major}"
            ))
            .help(format!("use {framework} that was built for CUDA {major}")),
            None => {
                let first = names.first().copied().unwrap_or_default();
                not_found(format!(
                    "`{path}` needs {first}, which {finder} cannot find"
                ))
            }
        };
        let install = || match of.is_torch {
            false => install(of, &names, cudnn.is_some()),
            true => "install the packages that torch requires: `pip check` lists them".into(),
        };
        let dirs = dirs.iter().map(|dir| dir.display());
        let searched = of.missing.first().map(|one| one.searched.join("\n"));
        finding
            .helps(dirs.map(|dir| format!("add `{dir}` to {variable}")))
            .helps((!has_all).then(install))
            .with("result", result)
            .with("not found", names.join(", "))
            .with_some("searched", searched)
    }
}

/// Returns the help to install these libraries from NVIDIA's wheels, which exist for each CUDA major. `other_cudnn`: the
/// cuDNN here is for another one.
fn install(of: &Provider, files: &[&str], other_cudnn: bool) -> String {
    let names = || files.iter().filter_map(|file| LibraryName::read(file));
    let missing = names().find(|it| it.name == "cudnn");
    let major = missing.and_then(|it| it.major());
    let from = Version::new(major.unwrap_or(0), 0, 0);
    let below = major.map(|major| Version::new(major + 1, 0, 0));
    let is_published = |cuda: &u32| Installer::Pip.install_cudnn(*cuda, from, below).is_some();
    let of_cuda = names().any(|it| it.name.starts_with("cu"));
    let Some(cuda) = of.cuda.filter(is_published).filter(|_| of_cuda) else {
        let first = files.first().copied().unwrap_or_default();
        return format!("install the package that contains {first}");
    };
    let cudnn = match major {
        Some(major) => format!(" \"nvidia-cudnn-cu{cuda}=={major}.*\""),
        None if other_cudnn => format!(" \"nvidia-cudnn-cu{cuda}\""),
        None => String::new(),
    };
    let wheels =
        format!("cuda{cuda} \"cuda-toolkit[cublas,cudart,cufft,curand,nvrtc]=={cuda}.*\"{cudnn}`");
    let pip = format!("install the libraries of CUDA {cuda}: `pip install --target");
    match of.is_dll {
        true => format!("{pip} {wheels}, and add the directories of its DLLs to PATH"),
        false => format!(
            "{pip} ~/{wheels}, then run `export LD_LIBRARY_PATH=$(echo ~/cuda{cuda}/nvidia/*/lib | tr ' ' :)${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}`"
        ),
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::linkage::Missing;

    /// NVIDIA has no wheels for CUDA 10, and none of cuDNN 8 for CUDA 13.
    #[test]
    fn only_published_wheels_are_installed() {
        let help = |cuda, names: [&str; 2]| {
            let missing = names.map(|name| Missing {
                name: name.into(),
                ..Missing::default()
            });
            let provider = Provider {
                path: "/opt/ort/libonnxruntime_providers_cuda.so".into(),
                is_dll: false,
                is_torch: false,
                cuda: Some(cuda),
                missing: missing.into(),
            };
            let fault = ProviderFault::NoLibraries(Vec::new(), false, None, None);
            fault.finding(&provider).help.remove(0)
        };
        assert_eq!(
            help(10, ["libcublas.so.10", "libcudnn.so.7"]),
            "install the package that contains libcublas.so.10"
        );
        assert_eq!(
            help(13, ["libcublas.so.13", "libcudnn.so.8"]),
            "install the package that contains libcublas.so.13"
        );
        let install = help(12, ["libcublas.so.12", "libcudnn.so.8"]);
        assert!(
            install.contains(" \"nvidia-cudnn-cu12==8.*\"`"),
            "{install}"
        );
    }
}
