//! A program that is incompatible with the cuDNN, the driver or the GPUs of this machine, and the reason why the cuDNN
//! is loaded.

use crate::runtime::facts::{Finding, FindingId, Policy, Severity, Target, Version, printable};
use crate::runtime::install::mixed_sub_libraries::Replacement;
use crate::runtime::install::{MainLibrary, NotLoadedYet, Remedy};
use crate::runtime::judge::program_rules::{
    AcceptedReleases, CudaMajorMismatch, DriverUser, ReleaseMismatch,
};
use crate::runtime::judge::{Gpu, NewerPtx};
use crate::runtime::loader::file_name;
use crate::runtime::loader::file_name::first_name;
use crate::runtime::messages::not_found::by_first_name;
use crate::runtime::system::platform::LIBRARY_PATH;
use std::path::PathBuf;

impl ReleaseMismatch {
    /// Returns the finding. `loaded`: the main library, and the reason why the loader uses it.
    pub fn finding(
        &self,
        loaded: Vec<(&'static str, String)>,
        replacement: &Replacement,
        remedy: Option<Remedy>,
    ) -> Finding {
        let name = if self.is_major {
            self.loaded.major.to_string()
        } else {
            self.loaded.to_string()
        };
        let (headline, allowed) = match &self.accepted {
            AcceptedReleases::Requirement(text) => (
                format!(
                    "loaded cuDNN {name} does not meet the requirement `{text}` of this program"
                ),
                format!("the requirement `{text}`"),
            ),
            AcceptedReleases::BuiltWith(with, policy) => {
                let relation = if self.loaded.major != with.major {
                    "has a different major version than"
                } else if self.loaded < *with {
                    "is older than"
                } else {
                    "is newer than"
                };
                (
                    format!(
                        "loaded cuDNN {name} {relation} {with}, which this program was built with"
                    ),
                    format!("{with} (compatible: {})", range(*with, *policy)),
                )
            }
        };
        let finding = FindingId::CudnnVersionMismatch
            .error(headline)
            .with_all(loaded);
        let help = replacement.help(&self.required_cudnn());
        let finding = match remedy {
            Some(Remedy::Hidden { path, is_tried }) => finding
                .with("available", path.display())
                .help(by_first_name(&path))
                .helps(is_tried.then_some(help)),
            Some(Remedy::Available(path)) => {
                let dir = path.parent().unwrap_or(&path);
                let precede = replacement.main.precede(dir, replacement.loaded);
                let is_first = replacement.in_the_way.is_empty();
                let help = precede.filter(|_| is_first).unwrap_or(help);
                finding.with("available", path.display()).help(help)
            }
            Some(Remedy::Upgrade(command)) => finding.help(help).help(format!(
                "run `{command}`: the loaded cuDNN is from a Python package"
            )),
            None => finding.help(help),
        };
        finding.with("built with", allowed)
    }

    /// Returns the cuDNN to install: "cuDNN 9.28 or later 9.x".
    pub fn required_cudnn(&self) -> String {
        match &self.accepted {
            AcceptedReleases::Requirement(text) => format!("a cuDNN that meets `{text}`"),
            AcceptedReleases::BuiltWith(with, policy) => {
                format!("cuDNN {}", range(*with, *policy))
            }
        }
    }
}

fn range(with: Version, policy: Policy) -> String {
    match policy {
        Policy::Compatible | Policy::Requirement => {
            format!("{} or later {}.x", with.short(), with.major)
        }
        Policy::SameMinor => format!("{}.x", with.short()),
        Policy::Exact => with.to_string(),
    }
}

impl CudaMajorMismatch {
    /// Returns the finding. Both may be installed. `help`: the way to a cuDNN for the program's CUDA, if it is known.
    pub fn finding(&self, help: Option<String>) -> Finding {
        let Self { loaded, built_with } = self;
        FindingId::CudaFlavourMismatch.warning(format!(
            "loaded cuDNN was built for CUDA {loaded}, but this program was built with cuDNN for CUDA {built_with}"
        ))
        .help(help.unwrap_or_else(|| format!("install the cuDNN for CUDA {built_with}")))
    }
}

impl DriverUser {
    /// Returns the finding for a driver that supports only an older CUDA major than the needed one, an error if a
    /// program needs it. `drivers` contains the first driver for each CUDA major.
    pub fn driver_too_old(
        self,
        driver: Version,
        needed: u32,
        drivers: &[(u32, String)],
    ) -> Finding {
        let (what, is_program) = match self {
            DriverUser::LoadedCudnn => ("the loaded cuDNN requires", true),
            DriverUser::Program | DriverUser::ProgramWithoutCudnn => {
                ("this program requires", true)
            }
            DriverUser::ChosenCudnn => ("cuDNN requires", false),
            DriverUser::ChosenToolkit => ("the toolkit requires", false),
        };
        let supported = driver.short();
        let major = driver.major;
        let other = || match self {
            DriverUser::ProgramWithoutCudnn => {
                format!("use a program that was built for CUDA {major}")
            }
            _ => format!("use a program and a cuDNN that were built for CUDA {major}"),
        };
        FindingId::DriverTooOld
            .error_if(
                is_program,
                format!("the NVIDIA driver supports CUDA {supported}, but {what} CUDA {needed}"),
            )
            .help(match drivers.iter().find(|row| row.0 == needed) {
                Some((_, first)) => format!(
                    "upgrade the NVIDIA driver to {first} or later, which supports CUDA {needed}"
                ),
                None => {
                    format!("upgrade the NVIDIA driver to a version that supports CUDA {needed}")
                }
            })
            .helps(is_program.then(other))
    }
}

impl Gpu<'_> {
    /// Returns the finding for a GPU that no kernel of the program runs on, a warning if the program may run without
    /// the GPU. `newer_ptx`: the PTX that would run on it if the driver were newer.
    pub fn uncovered_finding(&self, targets: &[Target], newer_ptx: Option<NewerPtx>) -> Finding {
        let gpu = self.words();
        let finding = match newer_ptx {
            None => FindingId::KernelsNotCoveringGpu.error_if(
                self.is_required,
                format!("no kernel of this program runs on {gpu}"),
            ),
            Some(ptx) => ptx.finding(
                Severity::error_if(self.is_required),
                &format!("the only code that could run on {gpu} is"),
            ),
        };
        let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
        finding.with("compiled", targets.join(", ")).help(format!(
            "rebuild the program with CUDNN_GUARD_ARCHS={}",
            self.capability
        ))
    }
}

impl NotLoadedYet {
    pub fn finding(&self) -> Finding {
        let (summary, help) = match self {
            NotLoadedYet::LeftOut => (
                "this program is linked against cuDNN, but cuDNN is not loaded",
                "call a function of cuDNN in this program: linkers drop libraries that are not used",
            ),
            NotLoadedYet::Unopened => (
                "no cuDNN was found among the libraries of this process, and the guard of a library does not load one",
                "call `check()` after the first use of cuDNN, to check the loaded one",
            ),
        };
        FindingId::NotLoadedYet.warning(summary).help(help)
    }
}

impl MainLibrary {
    /// Returns the finding for other cuDNNs in the process.
    pub fn others_finding(&self, others: &[PathBuf]) -> Finding {
        let judged = self.path.display();
        let summary = format!("more than one cuDNN is loaded in this process; checking `{judged}`");
        FindingId::DuplicateCudnn
            .warning(summary)
            .with_lines("also", others.iter().map(|other| other.display()))
    }

    /// Returns its file and the reason why it is loaded.
    pub fn evidence(&self) -> Vec<(&'static str, String)> {
        let mut evidence = vec![("loaded", printable(&self.path.to_string_lossy()))];
        let by_file = file_name::parse(&self.path).and_then(|name| name.1);
        if by_file.is_some_and(|major| major != self.major) {
            evidence.push(("own name", file_name::of_main(self.major)));
        }
        evidence.push(("found via", self.origin.to_string()));
        evidence
    }
}

impl Replacement<'_> {
    /// Returns the help that replaces the loaded cuDNN by the required one.
    pub fn help(&self, required: &str) -> String {
        let folder = self.loaded.parent().unwrap_or(self.loaded);
        let entries = self.in_the_way.iter();
        let entries: Vec<String> = entries.map(|dir| format!("`{}`", dir.display())).collect();
        let mut required = match self.compatible {
            Some(version) if entries.is_empty() => format!("cuDNN {version}"),
            _ => required.to_string(),
        };
        let name = self.loaded.file_name().and_then(|name| name.to_str());
        if let Some(name) = name.filter(|name| [first_name(false), first_name(true)].contains(name))
        {
            required += &format!(" with a `{name}`");
        }
        let help = self.main.help(folder, &required);
        if entries.is_empty() {
            return help;
        }
        let entries = entries.join(" and ");
        format!("remove {entries} from {LIBRARY_PATH}, and {help}")
    }
}
