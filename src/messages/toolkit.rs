//! Incomplete CUDA toolkits, and libraries that are not installed.

use crate::messages::phrases::{after_space, also, found_via, install_cross_packages, variable};
use crate::model::{Candidate, Kind, Os, Platform, Toolkit, joined};
use crate::runtime::facts::{Finding, FindingId, Version, quoted};
use crate::runtime::install::package_owner::environment;
use crate::system::files;
use crate::toolchain::environment_checks::NvccHeaderSkew;
use crate::toolkit::dependencies::MissingDependency;
use crate::toolkit::missing_library::Missing;
use crate::toolkit::nvcc::{NvccFault, Question, SAYS};
use crate::toolkit::package_names::{
    Package, by_distribution, fetch_home, fetch_options, is_of_wheels, package_suffix,
};
use std::path::Path;

impl Candidate {
    /// Returns the finding for a chosen toolkit without `nvcc`, `headers` or `libraries`. `complete`: a toolkit that
    /// was not chosen.
    pub fn incomplete_finding(
        &self,
        toolkit: &Toolkit,
        lacks: &[&str],
        platform: &Platform,
        is_cross: bool,
        complete: Option<&Candidate>,
    ) -> Finding {
        let target = after_space(is_cross.then(|| format!("for {}", platform.cpu)));
        let version = after_space(toolkit.version.map(Version::short));
        let headline = format!(
            "the CUDA{version} toolkit at `{}` does not include {}{target}",
            toolkit.root.display(),
            lacks.join(" or ")
        );
        let finding = match lacks {
            ["nvcc"] => FindingId::PartialToolkit.note(headline),
            _ => FindingId::PartialToolkit.warning(headline),
        };
        let requested = complete.filter(|_| self.request.is_some());
        let finding = finding
            .with("found via", found_via(self))
            .with_some("also found", complete.map(also))
            .helps(requested.map(|one| format!("set {} to `{}`", self.via, one.root().display())));
        finding.help(match is_cross {
            true => install_cross_packages(platform),
            false => install_components(toolkit, lacks, platform.os),
        })
    }
}

impl Missing<'_> {
    pub fn finding(&self, candidate: &Candidate, toolkit: &Toolkit, os: Os) -> Finding {
        let root = toolkit.root.display();
        let install = |package: &Package| install(&toolkit.root, toolkit.version, &[*package], os);
        match self {
            Missing::Misspelled(name, close) => FindingId::LibraryNotFound
                .error(format!(
                    "CUDA does not include a library `{name}`, which `.libs([{name:?}])` requires"
                ))
                .help(format!("write `.libs([{close:?}])` in build.rs")),
            Missing::LinuxOnly(name) => FindingId::LibraryNotFound
                .error(format!(
                    "NVIDIA does not provide the library `{name}` for Windows, which `.libs([{name:?}])` requires"
                ))
                .help(format!(
                    "call `.libs([{name:?}])` in build.rs only if CARGO_CFG_TARGET_OS is `linux`"
                ))
                .help("build without the cargo feature that needs this library"),
            Missing::Library(name, package) => {
                let dirs = [&toolkit.link_dirs[..], &toolkit.stub_dirs].concat();
                FindingId::LibraryNotFound.error(format!(
                    "CUDA at `{root}` does not contain the library `{name}`, which `.libs([{name:?}])` requires"
                ))
                .with_paths("searched", &dirs)
                .help(match os {
                    Os::Windows if *name != "cudart" && is_of_wheels(&toolkit.root) => {
                        let variable = match candidate.request {
                            Some(_) => candidate.via.to_string(),
                            None => variable(Kind::Toolkit).into(),
                        };
                        format!(
                            "set {variable} to a toolkit from NVIDIA's installer, which contains `{name}.lib`: NVIDIA's wheels for Windows do not"
                        )
                    }
                    _ => install(package),
                })
            }
            Missing::DriverStub(is_read) => {
                let is_of_wheels = is_of_wheels(&toolkit.root);
                let dirs = toolkit.link_dirs.first().filter(|_| is_of_wheels);
                let headline = format!(
                    "CUDA at `{root}` does not contain the driver stub `libcuda.so`, which `.libs([\"cuda\"])` requires"
                );
                FindingId::LibraryNotFound.error_if(*is_read, headline).help(match dirs {
                    // No wheel contains one.
                    Some(dir) => format!(
                        "create a link to the driver's library: `cd {} && mkdir -p stubs && ln -s $(ldconfig -p | grep -m1 \
                         libcuda.so.1 | sed 's/.*=> //') stubs/libcuda.so`; without a driver, run `cudnn-guard fetch`, which \
                         adds a stub to its toolkit",
                        quoted(&dir.display().to_string())
                    ),
                    None => install(&("cuda-driver", "")),
                })
            }
            Missing::Headers(names, package) => {
                let first = names.first().map_or("", |name| name);
                let all = if names.len() > 1 { &names[..] } else { &[] };
                FindingId::PartialToolkit.note(format!(
                    "CUDA at `{root}` does not contain `{first}`"
                ))
                .with_lines("missing", all)
                .help(install(package))
            }
        }
    }
}

impl MissingDependency {
    /// Returns the finding for a library of this toolkit. It is a warning, since linker and loader may find the library
    /// by other means.
    pub fn finding(&self, toolkit: &Toolkit) -> Finding {
        let file = self.library.file_name().unwrap_or_default();
        let (library, needs) = (file.to_string_lossy(), &self.needs);
        let root = toolkit.root.display();
        let cuda = after_space(toolkit.version.map(Version::short));
        let symbol = self.symbols.first().map_or("", String::as_str);
        let stem = needs.split(".so").next().unwrap_or_default();
        FindingId::PartialToolkit
            .warning(match &self.beside {
                Some(_) => format!(
                    "`{library}` of CUDA{cuda} calls `{symbol}`, which `{needs}` beside it does not contain: their versions differ"
                ),
                None => format!("`{library}` of CUDA{cuda} needs `{needs}`, which is not in `{root}`"),
            })
            .with("library", self.library.display())
            .with_some("dependency", self.beside.as_deref().map(Path::display))
            .with_paths("also found", &self.others)
            .help(format!("install `{library}` and `{stem}` of the same CUDA version in `{root}`"))
            .help("set CUDA_HOME to a complete toolkit")
    }
}

impl NvccHeaderSkew<'_> {
    pub fn finding(&self) -> Finding {
        let ((compiler, nvcc), (header, headers)) = (self.nvcc, self.header);
        let (nvcc, headers) = (nvcc.short(), headers.short());
        let root = compiler.ancestors().nth(2).unwrap_or(compiler);
        let wheels = ["cuda-nvcc", "cuda-crt", "cuda-runtime", "nvvm"].map(|wheel| (wheel, wheel));
        FindingId::NvccHeaderSkew
            .error(format!(
                "nvcc {nvcc} would compile with the headers of CUDA {headers}"
            ))
            .with("nvcc", compiler.display())
            .with("header", header.display())
            .with_paths("also found", &self.others)
            .helps(is_of_wheels(root).then(|| install(root, Some(self.nvcc.1), &wheels, Os::Linux)))
            .help("set CUDA_HOME to a toolkit whose nvcc and cuda.h have the same version")
            .help(format!(
                "install nvcc {headers} or the headers of CUDA {nvcc} in this toolkit"
            ))
    }
}

impl NvccFault {
    pub fn finding(&self) -> Finding {
        let (question, command) = match self {
            Self::NotRun(finding) => return finding.clone(),
            Self::NoAnswer {
                question, command, ..
            } => (question, command),
        };
        let question = match question {
            Question::Layout => "its directories",
            Question::Version => "its version",
            Question::GpuCodes => "the GPUs that it supports",
        };
        let program = command.program.display();
        FindingId::NvccFailed
            .error(format!("`{program}` does not report {question}"))
            .with_some(SAYS, self.output())
            .with("command", command)
            .help("run the command by hand to see why this nvcc does not work")
    }

    /// Returns the output of an nvcc that ran.
    pub(super) fn output(&self) -> Option<&str> {
        match self {
            Self::NotRun(_) => None,
            Self::NoAnswer { output, .. } if output.is_empty() => Some("nothing"),
            Self::NoAnswer { output, .. } => Some(output),
        }
    }
}

/// Returns the help that adds missing components to a toolkit.
pub(super) fn install_components(toolkit: &Toolkit, lacks: &[&str], os: Os) -> String {
    let packages = [("cuda-nvcc", "cuda-nvcc"), ("cuda-cudart", "cuda-runtime")];
    let packages = match lacks {
        ["nvcc"] => &packages[..1],
        ["nvcc", ..] => &packages,
        _ => &packages[1..],
    };
    install(&toolkit.root, toolkit.version, packages, os)
}

/// Returns the help that adds packages to a toolkit with its installer.
pub(super) fn install(
    root: &Path,
    version: Option<Version>,
    packages: &[Package],
    os: Os,
) -> String {
    let all = |name: &dyn Fn(&Package) -> String, between: &str| {
        joined(packages.iter().map(name), between)
    };
    let named = |(name, _): &Package| match *name {
        "cuda-nvcc" | "cuda-crt" | "cuda-cccl" => name.to_string(),
        _ => format!("{name}-dev"),
    };
    if is_of_wheels(root) {
        match (packages, version.map(|version| version.major)) {
            // These wheels contain only a part of the compiler.
            ([("cuda-nvcc", _)], Some(..13)) => {
                return "install a CUDA toolkit from NVIDIA if you compile kernels: wheels before CUDA 13 do not contain nvcc".into();
            }
            ([(name, "nvjitlink" | "cufile")], Some(11)) => {
                return format!("install CUDA 12 or later: no wheel for CUDA 11 contains `{name}`");
            }
            _ => {}
        }
        let wheel = |(_, wheel): &Package| match version {
            Some(Version { major, .. }) if major < 13 => format!("nvidia-{wheel}-cu{major}"),
            // These have the toolkit's version number.
            Some(cuda) if ["nvvm", "cuda-nvcc", "cuda-crt", "cuda-runtime"].contains(wheel) => {
                format!("'nvidia-{wheel}=={}.*'", cuda.short())
            }
            _ => format!("nvidia-{wheel}"),
        };
        return match (fetch_home(root), fetch_options(packages)) {
            (None, _) => {
                let packages = all(&wheel, " ");
                format!("run `pip install {packages}`")
            }
            (Some(home), Some(options)) => {
                let home = quoted(&home.to_string_lossy());
                format!("run `cudnn-guard fetch{options} --to {home}`")
            }
            _ => "install NVIDIA's full toolkit instead of the one from `cudnn-guard fetch`".into(),
        };
    }
    if files::is_dir(&environment(root).join("conda-meta")) {
        let packages = all(&named, " ");
        return format!("run `conda install -c conda-forge {packages}`");
    }
    if os == Os::Windows {
        // `cuda_12.9.1_windows.exe -s nvcc_12.9`
        let version = version.map_or_else(String::new, |version| format!("_{}", version.short()));
        let component = |(_, wheel): &Package| match wheel.trim_start_matches("cuda-") {
            "runtime" => format!("`cudart{version}`"),
            name @ ("cupti" | "nvcc" | "nvjitlink") => format!("`{name}{version}`"),
            name => format!("`{name}_dev{version}`"),
        };
        return format!(
            "install {} with NVIDIA's installer",
            all(&component, " and ")
        );
    }
    if root.ends_with("usr") {
        return "install the distribution's full toolkit: `nvidia-cuda-toolkit` (Debian, Ubuntu)"
            .into();
    }
    let release = package_suffix(version);
    let debian = all(&|it| format!("`{}{release}`", named(it)), " and ");
    let fedora = debian.replace("-dev", "-devel");
    format!("install {}", by_distribution(&debian, &fedora))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolkit::package_names::FETCH_MARKER;

    #[test]
    fn what_to_install_is_named_as_its_owner_names_it() {
        let wheels = "/venv/lib/python3.12/site-packages/nvidia";
        let conda = std::env::temp_dir().join(format!("cudnn-guard-conda-{}", std::process::id()));
        std::fs::create_dir_all(conda.join("conda-meta")).unwrap();
        let fetched = conda.join("fetched");
        std::fs::create_dir_all(&fetched).unwrap();
        std::fs::write(fetched.join(FETCH_MARKER), "").unwrap();
        let home = fetched.display();
        for (root, version, lacks, expected) in [
            (
                "/usr/local/cuda-12.8",
                (12, 8),
                &["nvcc"][..],
                "install `cuda-nvcc-12-8`".to_string(),
            ),
            (
                "/usr/local/cuda-12.8",
                (12, 8),
                &["nvcc", "headers"],
                "install `cuda-nvcc-12-8` and `cuda-cudart-dev-12-8` (Debian, Ubuntu) \
                 or `cuda-nvcc-12-8` and `cuda-cudart-devel-12-8` (Fedora, RHEL)"
                    .into(),
            ),
            (
                "/usr",
                (12, 4),
                &["nvcc"],
                "install the distribution's full toolkit: `nvidia-cuda-toolkit` (Debian, Ubuntu)"
                    .into(),
            ),
            (
                r"C:\CUDA\v12.8",
                (12, 8),
                &["nvcc", "headers"],
                "install `nvcc_12.8` and `cudart_12.8` with NVIDIA's installer".into(),
            ),
            (
                conda.to_str().unwrap(),
                (12, 8),
                &["headers", "libraries"],
                "run `conda install -c conda-forge cuda-cudart-dev`".into(),
            ),
            (
                wheels,
                (12, 8),
                &["libraries"],
                "run `pip install nvidia-cuda-runtime-cu12`".into(),
            ),
            (
                wheels,
                (12, 8),
                &["nvcc"],
                "install a CUDA toolkit from NVIDIA if you compile kernels: wheels before CUDA 13 do not contain nvcc".into(),
            ),
            (
                &format!("{wheels}/cu13"),
                (13, 0),
                &["nvcc", "libraries"],
                "run `pip install 'nvidia-cuda-nvcc==13.0.*' 'nvidia-cuda-runtime==13.0.*'`".into(),
            ),
            (
                &format!("{home}/nvidia/cu13"),
                (13, 0),
                &["nvcc"],
                format!("run `cudnn-guard fetch --to {home}`"),
            ),
        ] {
            let toolkit = Toolkit {
                root: root.into(),
                version: Some(Version::new(version.0, version.1, 0)),
                ..Toolkit::default()
            };
            let os = match root.contains('\\') {
                true => Os::Windows,
                false => Os::Linux,
            };
            assert_eq!(install_components(&toolkit, lacks, os), expected);
        }
        let root = format!("{home}/nvidia/cu13");
        let add = |package| install(Path::new(&root), None, &[package], Os::Linux);
        assert_eq!(
            add(("libcurand", "curand")),
            format!("run `cudnn-guard fetch --with curand --to {home}`")
        );
        assert_eq!(
            add(("libcufile", "cufile")),
            "install NVIDIA's full toolkit instead of the one from `cudnn-guard fetch`"
        );
        std::fs::remove_dir_all(&conda).unwrap();
    }
}
