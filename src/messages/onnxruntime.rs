//! An ONNX Runtime that would compute on the CPU.

use crate::inspection::onnxruntime::ProviderFault;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::library_name::LibraryName;
use crate::toolkit::missing_library;

const EFFECT: &str = "ONNX Runtime computes on the CPU, and only logs the reason";

impl ProviderFault<'_> {
    pub fn finding(&self) -> Finding {
        let id = FindingId::LibraryNotFound;
        match self {
            Self::NoShared(provider, shared) => {
                let dir = provider.parent().unwrap_or(provider).display();
                let provider = provider.display();
                let summary = format!("`{shared}` is not beside `{provider}`");
                Finding::warning(id, summary)
                    .help(format!(
                        "copy `{shared}` of the same ONNX Runtime into `{dir}`"
                    ))
                    .with("effect", EFFECT)
            }
            Self::OtherCudnn(provider, own, other) => {
                let provider = provider.display();
                let summary = format!(
                    "`{provider}` is built for CUDA {own}, and the cuDNN that the loader finds for it is for CUDA {other}"
                );
                Finding::warning(FindingId::CudaFlavourMismatch, summary)
                    .help(format!("install the cuDNN for CUDA {own}, and put its directory first into LD_LIBRARY_PATH"))
            }
            Self::NoLibraries {
                provider,
                cuda,
                missing,
                dirs,
                toolkit,
                cudnn,
                is_dll,
            } => {
                let names: Vec<&str> = missing.iter().map(|one| &*one.name).collect();
                let provider = provider.display();
                let here = match (toolkit, cudnn) {
                    (Some(one), Some(other)) if one == other => {
                        Some((format!("CUDA and cuDNN here are for CUDA {one}"), one))
                    }
                    (Some(one), _) => Some((format!("the CUDA here is CUDA {one}"), one)),
                    (None, Some(one)) => Some((format!("the cuDNN here is for CUDA {one}"), one)),
                    (None, None) => None,
                };
                let (path, finder) = match is_dll {
                    true => ("PATH", "Windows"),
                    false => ("LD_LIBRARY_PATH", "the loader"),
                };
                let mut finding = match (&here, cuda) {
                    (Some((here, _)), Some(own)) => {
                        let summary = format!("`{provider}` is built for CUDA {own}, and {here}");
                        Finding::warning(FindingId::CudaFlavourMismatch, summary)
                    }
                    _ => {
                        let first = names.first().copied().unwrap_or_default();
                        let more = match names.len() {
                            0 | 1 => String::new(),
                            count => format!(" and {} more", count - 1),
                        };
                        let summary = format!(
                            "`{provider}` needs {first}{more}, which {finder} does not find"
                        );
                        Finding::warning(FindingId::LibraryNotFound, summary)
                    }
                };
                if let Some((_, major)) = here {
                    finding = finding.help(format!(
                        "use an ONNX Runtime that is built for CUDA {major}"
                    ));
                }
                for dir in dirs {
                    finding = finding.help(format!("put `{dir}` into {path}"));
                }
                if dirs.is_empty() {
                    finding = finding.help(install(*cuda, &names, cudnn.is_some(), *is_dll));
                }
                let searched = missing.first().map(|one| one.searched.join("\n"));
                finding
                    .with("effect", EFFECT)
                    .with("not found", names.join(", "))
                    .with_lines("looked at", searched)
            }
        }
    }
}

/// Returns the help to install these libraries from NVIDIA's wheels, which exist for each CUDA major.
fn install(cuda: Option<u32>, files: &[&str], has_other_cudnn: bool, is_dll: bool) -> String {
    let (mut extras, mut cudnn) = (Vec::new(), None);
    for name in files.iter().filter_map(|file| LibraryName::read(file)) {
        if name.sub_library().is_some() {
            cudnn = name.major();
        } else if let Some((_, wheel)) = missing_library::package(&name.name) {
            let extra = wheel.trim_start_matches("cuda-");
            let extra = if extra == "runtime" { "cudart" } else { extra };
            extras.push(extra);
        }
    }
    extras.sort_unstable();
    extras.dedup();
    let Some(cuda) = cuda.filter(|_| cudnn.is_some() || !extras.is_empty()) else {
        let first = files.first().copied().unwrap_or_default();
        return format!("install the package that has {first}");
    };
    // Windows' own shell knows only double quotes.
    let quote = if is_dll { '"' } else { '\'' };
    let mut wheels = String::new();
    if !extras.is_empty() {
        wheels += &format!(
            " {quote}cuda-toolkit[{}]=={cuda}.*{quote}",
            extras.join(",")
        );
    }
    if let Some(major) = cudnn {
        wheels += &format!(" {quote}nvidia-cudnn-cu{cuda}=={major}.*{quote}");
    } else if has_other_cudnn {
        wheels += &format!(" nvidia-cudnn-cu{cuda}");
    }
    let (own, path) = match is_dll {
        true => (
            "cuda",
            format!("put the directories of its DLLs below `cuda{cuda}` on PATH"),
        ),
        false => (
            "~/cuda",
            format!(
                "`export LD_LIBRARY_PATH=$(echo ~/cuda{cuda}/nvidia/*/lib | tr ' ' :)${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}`"
            ),
        ),
    };
    format!(
        "install the libraries of CUDA {cuda}: `pip install --target {own}{cuda}{wheels}`, then {path}"
    )
}
