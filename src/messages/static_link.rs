use crate::messages::phrases::after_space;
use crate::model::text::joined;
use crate::runtime::messages::sub_libraries::names;
use crate::toolchain::static_link::{ArchiveSource, StaticLinkFault};
use crate::toolkit::package_names::by_distribution;
use crate::{Finding, FindingId, Version};
use std::path::Path;

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
                package,
            } => {
                let version = after_space(cudnn.version());
                FindingId::PartsMissing.error(format!(
                    "cuDNN{version} at `{}` is missing {}, which `.link(Link::Static)` requires",
                    cudnn.root.display(),
                    archives(missing)
                ))
                .with("missing", missing.join("\n"))
                .with("searched", dir.display())
                .help(match package {
                    Some((major @ 9.., cuda)) => format!("install `libcudnn{major}-static-cuda-{cuda}`"),
                    Some((major, _)) => format!("install `libcudnn{major}-dev`"),
                    None => "set CUDNN_PATH to an extracted archive from NVIDIA, which contains the static libraries in `lib`".to_string(),
                })
                .help(DYNAMIC)
            }
            Self::Toolkit {
                toolkit,
                missing,
                needed_by,
                source,
            } => {
                let cuda = after_space(toolkit.version.map(Version::short));
                FindingId::PartialToolkit.error(format!(
                    "CUDA{cuda} at `{}` does not contain {}, which {needed_by} needs for static linking",
                    toolkit.root.display(),
                    archives(missing)
                ))
                .with_lines("missing", Some(missing).filter(|all| all.len() > 1).into_iter().flatten())
                .with_paths("searched", &toolkit.link_dirs)
                .helps(source.as_ref().map(ArchiveSource::help))
                .help(DYNAMIC)
            }
        }
    }
}

/// Returns the names of archives, or their number if there are many.
fn archives(missing: &[String]) -> String {
    match missing.len() {
        0..=3 => names(&missing.iter().map(Path::new).collect::<Vec<_>>()),
        many => format!("{many} static libraries"),
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
