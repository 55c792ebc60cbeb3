//! Incomplete CUDA toolkits, and libraries that are not installed.

use crate::messages::phrases::{after_space, also, found_via, install_cross_packages, variable};
use crate::model::{Candidate, Kind, Os, Platform, Toolkit};
use crate::runtime::facts::{Finding, FindingId, Version, quoted};
use crate::toolchain::environment_checks::NvccHeaderSkew;
use crate::toolkit::dependencies::MissingDependency;
use crate::toolkit::missing_library::Missing;
use crate::toolkit::nvcc::{NvccFault, Question, SAYS};
use crate::toolkit::package_names::{by_distribution, fetch_command, is_of_wheels, package_suffix};
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
            false => format!("install {}", packages(self, toolkit, lacks, platform.os)),
        })
    }
}

impl Missing<'_> {
    pub fn finding(&self, candidate: &Candidate, toolkit: &Toolkit, os: Os) -> Finding {
        let root = toolkit.root.display();
        let install = |package: &(&str, &str)| install(candidate, toolkit, os, *package);
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

/// Returns the command that installs the package of a library, with the installer of the toolkit.
fn install(
    candidate: &Candidate,
    toolkit: &Toolkit,
    os: Os,
    (name, wheel): (&str, &str),
) -> String {
    let (version, via) = (toolkit.version, &candidate.via);
    if let Some(command) = fetch_command(&toolkit.root, wheel) {
        return match command {
            Some(command) => format!("run `{command}`"),
            None => format!(
                "install the full toolkit from NVIDIA: `cudnn-guard fetch` does not install `{name}`"
            ),
        };
    }
    if is_of_wheels(&toolkit.root) {
        return match version.map(|version| version.major) {
            Some(11) if ["nvjitlink", "cufile"].contains(&wheel) => {
                format!("install CUDA 12 or later: no wheel for CUDA 11 contains `{name}`")
            }
            Some(major @ ..13) => format!("run `pip install nvidia-{wheel}-cu{major}`"),
            _ => format!("run `pip install nvidia-{wheel}`"),
        };
    }
    if via.is_conda() {
        return format!("run `conda install -c conda-forge {name}-dev`");
    }
    if os == Os::Windows {
        let component = match wheel {
            "cuda-runtime" => "cudart",
            "cuda-cupti" => "cupti",
            "nvjitlink" => wheel,
            wheel => &format!("{}_dev", wheel.trim_start_matches("cuda-")),
        };
        let version = component_suffix(version);
        return format!("install `{component}{version}` with NVIDIA's installer");
    }
    if toolkit.root.ends_with("usr") {
        return "install the distribution's full toolkit: `nvidia-cuda-toolkit` (Debian, Ubuntu)"
            .into();
    }
    let release = package_suffix(version);
    let debian = format!("`{name}-dev{release}`");
    let fedora = format!("`{name}-devel{release}`");
    format!("install {}", by_distribution(&debian, &fedora))
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
        let is_wheel = compiler.to_string_lossy().contains("/nvidia/cu1");
        let root = compiler.ancestors().nth(2).unwrap_or(compiler);
        let fetch = fetch_command(root, "cuda-nvcc").flatten();
        let wheels = || match &fetch {
            Some(command) => format!("run `{command}`"),
            None => format!(
                "install the same version of all wheels: `pip install 'nvidia-cuda-nvcc=={nvcc}.*' \
                 'nvidia-cuda-crt=={nvcc}.*' 'nvidia-cuda-runtime=={nvcc}.*' 'nvidia-nvvm=={nvcc}.*'`"
            ),
        };
        FindingId::NvccHeaderSkew
            .error(format!(
                "nvcc {nvcc} would compile with the headers of CUDA {headers}"
            ))
            .with("nvcc", compiler.display())
            .with("header", header.display())
            .with_paths("also found", &self.others)
            .helps(is_wheel.then(wheels))
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

/// Returns the packages to install, as named by the installer of the toolkit.
pub(super) fn packages(candidate: &Candidate, toolkit: &Toolkit, lacks: &[&str], os: Os) -> String {
    let names = |nvcc: &str, rest: &str| {
        let rest_lacks = lacks.iter().any(|part| *part != "nvcc");
        match (lacks.contains(&"nvcc"), rest_lacks) {
            (true, true) => format!("`{nvcc}` and `{rest}`"),
            (true, false) => format!("`{nvcc}`"),
            (false, _) => format!("`{rest}`"),
        }
    };
    if is_of_wheels(&toolkit.root) {
        let fetched = fetch_command(&toolkit.root, "cuda-runtime").flatten();
        return match (toolkit.version.map(|version| version.major), lacks) {
            // These wheels contain only a part of the compiler.
            (Some(..13), ["nvcc"]) => {
                "a CUDA toolkit from NVIDIA if you compile kernels: wheels before CUDA 13 do not contain nvcc".into()
            }
            _ if fetched.is_some() => format!("the missing files with `{}`", fetched.unwrap_or_default()),
            (Some(major @ ..13), _) => format!("the wheel `nvidia-cuda-runtime-cu{major}`"),
            _ => names("nvidia-cuda-nvcc", "nvidia-cuda-runtime") + " with pip",
        };
    }
    if candidate.via.is_conda() {
        return names("cuda-nvcc", "cuda-cudart-dev") + " from conda-forge";
    }
    if os == Os::Windows {
        let release = component_suffix(toolkit.version);
        let parts = names(&format!("nvcc{release}"), &format!("cudart{release}"));
        return parts + " with NVIDIA's installer";
    }
    let release = package_suffix(toolkit.version);
    let nvcc = format!("cuda-nvcc{release}");
    let debian = names(&nvcc, &format!("cuda-cudart-dev{release}"));
    let fedora = names(&nvcc, &format!("cuda-cudart-devel{release}"));
    by_distribution(&debian, &fedora)
}

/// Returns the suffix of the components of NVIDIA's installer: `cuda_12.9.1_windows.exe -s nvcc_12.9`.
fn component_suffix(version: Option<Version>) -> String {
    version.map_or_else(String::new, |version| format!("_{}", version.short()))
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Found, FoundVia};

    fn advice(via: FoundVia, root: &str, version: (u32, u32), lacks: &[&str]) -> String {
        let toolkit = Toolkit {
            root: root.into(),
            version: Some(Version::new(version.0, version.1, 0)),
            ..Toolkit::default()
        };
        let candidate = Candidate {
            found: Found::Toolkit(toolkit.clone()),
            via,
            rejected: None,
            request: None,
        };
        let windows = root.contains('\\');
        let os = if windows { Os::Windows } else { Os::Linux };
        packages(&candidate, &toolkit, lacks, os)
    }

    #[test]
    fn what_to_install_is_named_as_its_owner_names_it() {
        let wheels = "/venv/lib/python3.12/site-packages/nvidia";
        for (via, root, version, lacks, expected) in [
            (
                FoundVia::Directory("system directories"),
                "/usr",
                (12, 8),
                &["nvcc"][..],
                "`cuda-nvcc-12-8`",
            ),
            (
                FoundVia::Directory("system directories"),
                "/usr",
                (12, 8),
                &["nvcc", "headers"],
                "`cuda-nvcc-12-8` and `cuda-cudart-dev-12-8` (Debian, Ubuntu) \
                 or `cuda-nvcc-12-8` and `cuda-cudart-devel-12-8` (Fedora, RHEL)",
            ),
            (
                FoundVia::variable("CUDA_PATH"),
                r"C:\CUDA\v12.8",
                (12, 8),
                &["nvcc", "headers"],
                "`nvcc_12.8` and `cudart_12.8` with NVIDIA's installer",
            ),
            (
                FoundVia::Conda,
                "/conda",
                (12, 8),
                &["headers", "libraries"],
                "`cuda-cudart-dev` from conda-forge",
            ),
            (
                FoundVia::VirtualEnvironment,
                wheels,
                (12, 8),
                &["libraries"],
                "the wheel `nvidia-cuda-runtime-cu12`",
            ),
            (
                FoundVia::VirtualEnvironment,
                &format!("{wheels}/cu13"),
                (13, 0),
                &["nvcc", "libraries"],
                "`nvidia-cuda-nvcc` and `nvidia-cuda-runtime` with pip",
            ),
        ] {
            assert_eq!(advice(via, root, version, lacks), expected);
        }
    }
}
