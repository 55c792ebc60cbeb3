use crate::messages::phrases::after_space;
use crate::model::text::joined;
use crate::toolchain::static_link::{ArchiveSource, CudnnInstaller, StaticLinkFault};
use crate::toolkit::package_names::by_distribution;
use crate::{Finding, FindingId};

const DYNAMIC: &str = "remove `.link(Link::Static)` from build.rs to link dynamically";

impl StaticLinkFault<'_> {
    pub fn finding(&self) -> Finding {
        match self {
            Self::CudnnOnWindows => FindingId::ConfigInvalid
                .error("NVIDIA does not provide static cuDNN libraries for Windows")
                .help(DYNAMIC)
                .help("call `.link(Link::Runtime)` in build.rs, and load cuDNN at run time"),
            Self::Cudnn {
                cudnn,
                dir,
                missing,
                installer,
            } => {
                let what = match &missing[..] {
                    [one] => format!("`{one}`"),
                    more => format!("{} static libraries", more.len()),
                };
                let version = after_space(cudnn.version());
                FindingId::PartsMissing.error(format!(
                    "cuDNN{version} at `{}` is missing {what}, which `.link(Link::Static)` requires",
                    cudnn.root.display()
                ))
                .with("missing", missing.join("\n"))
                .with("searched", dir.display())
                .help(match installer {
                    CudnnInstaller::System { major: major @ 9.., cuda } => {
                        format!("install `libcudnn{major}-static-cuda-{cuda}`")
                    }
                    CudnnInstaller::System { major, .. } => {
                        format!("install `libcudnn{major}-dev`")
                    }
                    CudnnInstaller::Wheels => "set CUDNN_PATH to an extracted archive from NVIDIA: wheels do not contain a static cuDNN".to_string(),
                    CudnnInstaller::Other => "set CUDNN_PATH to an extracted archive from NVIDIA, which contains the static libraries in `lib`".to_string(),
                })
                .help(DYNAMIC)
            }
            Self::Toolkit {
                toolkit,
                missing,
                needed_by,
                source,
            } => {
                let others = match missing.len() {
                    0 | 1 => String::new(),
                    2 => " and one more archive".to_string(),
                    all => format!(" and {} more archives", all - 1),
                };
                let version = match toolkit.version {
                    Some(version) => format!("CUDA {}", version.short()),
                    None => "the CUDA toolkit".to_string(),
                };
                let dirs = toolkit
                    .link_dirs
                    .iter()
                    .map(|dir| dir.display().to_string());
                let none = toolkit
                    .link_dirs
                    .is_empty()
                    .then(|| "no library directory".to_string());
                FindingId::PartialToolkit.error(format!(
                    "{version} at `{}` does not contain `{}`{others}, which {needed_by} needs for static linking",
                    toolkit.root.display(),
                    missing.first().map_or("", String::as_str)
                ))
                .with_some("missing", (missing.len() > 1).then(|| missing.join("\n")))
                .with_lines("searched", dirs.chain(none))
                .helps(source.as_ref().map(ArchiveSource::help))
                .help(DYNAMIC)
            }
        }
    }
}

impl ArchiveSource {
    fn help(&self) -> String {
        let all = |names: &[String]| joined(names.iter().map(|name| format!("`{name}`")), " and ");
        match self {
            Self::OtherToolkit => {
                "set CUDA_HOME to a toolkit from NVIDIA's installer or packages: wheels contain no static library except cudart"
                    .to_string()
            }
            Self::Conda(names) => format!("install {} from conda-forge", all(names)),
            Self::Packages(names) => {
                let debian = all(names);
                let fedora = debian.replace("-dev-", "-devel-");
                format!("install {}", by_distribution(&debian, &fedora))
            }
        }
    }
}
