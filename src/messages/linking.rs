//! Libraries that programs are linked with.

use crate::link::lost_rpath::LostRpath;
use crate::link::{Linked, NoLinkMetadata};
use crate::messages::phrases::after_space;
use crate::model::joined;
use crate::runtime::messages::sub_libraries::names;
use crate::toolchain::{ArchiveSource, LazyLinkFault, StaticLinkFault};
use crate::toolkit::package_names::by_distribution;
use crate::{Finding, FindingId, Version};
use std::path::Path;

impl Linked {
    /// Returns the call by which the build script of a program gets the rpath of a package with this `links` key.
    pub(crate) fn query(links: &str) -> String {
        format!("Linked::from_dep(\"{links}\")")
    }
}

impl LostRpath<'_> {
    /// Returns the finding. `dir` is the directory in the rpath.
    pub fn finding(&self, dir: &Path) -> Finding {
        let (name, dir) = (self.name, dir.display());
        match self.links {
            Some(links) => FindingId::LibraryNotFound.warning(format!(
                "programs that depend on `{name}` cannot find the libraries in `{dir}` unless their build.rs adds the rpath"
            ))
            .help(format!("add `cudnn_guard::{}?.link()` to the build.rs of each program", Linked::query(links)))
            .help("call `.allow(\"library-not-found\")` in this build.rs if programs outside this workspace do so"),
            None => FindingId::LibraryNotFound.warning(format!(
                "programs that depend on `{name}` do not get its rpath to `{dir}`: cargo passes on libraries, but no linker \
                 arguments"
            ))
            .help(format!(
                "add `links = \"{name}\"` to [package] in its Cargo.toml, and add `cudnn_guard::{}?.link()` to the build.rs of \
                 each program",
                Linked::query(name)
            ))
            .help("call `.rpath(false)` in its build.rs if LD_LIBRARY_PATH or ld.so.conf contains that directory"),
        }
    }
}

impl NoLinkMetadata<'_> {
    pub fn finding(&self) -> Finding {
        let Self { links, variable } = self;
        FindingId::ConfigInvalid.error(format!(
            "no dependency with `links = \"{links}\"` passed link metadata to this build script"
        ))
        .with("variable", variable)
        .help(format!(
            "add the crate with `links = \"{links}\"` directly to [dependencies] of this package"
        ))
        .help("call `link()` on the toolchain in that crate's build.rs")
    }
}

impl LazyLinkFault<'_> {
    pub fn finding(&self) -> Finding {
        let other = "call `.link(Link::Dynamic)` or `.link(Link::Runtime)` in build.rs instead";
        match self {
            Self::Target(triple) => FindingId::ConfigInvalid.error(format!(
                "`Link::Lazy` supports Linux on x86_64 and aarch64 and Windows on x86_64, but the build target is {triple}"
            ))
            .help(other),
            Self::Unreadable(library, defect) => {
                let library = library.display();
                let reason = defect.as_ref().map_or_else(String::new, |defect| format!(": it {defect}"));
                FindingId::LibraryNotFound.error(format!(
                    "cannot read the functions of `{library}` for `Link::Lazy`{reason}"
                ))
                .help("reinstall the package that contains it, for the build target")
            }
            Self::NoLoader => FindingId::ConfigInvalid.error(
                "`Link::Lazy` opens shared libraries built for glibc, which a program with a static C library or for musl cannot do",
            )
            .help("build without `-C target-feature=+crt-static`, for a target with glibc"),
            Self::NoLibrary(toolkit, name) => FindingId::LibraryNotFound.error(format!(
                "CUDA at `{}` does not contain the library `{name}`, whose functions `Link::Lazy` needs",
                toolkit.display()
            ))
            .help(format!("remove `{name}` from `.libs(..)` in build.rs, or correct it")),
            Self::Name(library, name) => FindingId::ConfigInvalid.error(format!(
                "`{}` exports `{name}`, a name that `Link::Lazy` does not support",
                library.display()
            ))
            .help(other),
            Self::NotAssembled(library, message) => FindingId::IoError.error(format!(
                "cannot assemble the functions of `{}` for `Link::Lazy`",
                library.display()
            ))
            .with("assembler", message)
            .help(if cfg!(windows) {
                "install a C compiler with its assembler and `ar`: MSYS2's package mingw-w64-x86_64-gcc"
            } else {
                "install a C compiler with its assembler and `ar`: `sudo apt install gcc`, `sudo dnf install gcc`"
            })
            .help("set CC to the C compiler for the build target"),
        }
    }
}

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
