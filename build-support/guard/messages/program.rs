//! A program that is incompatible with the cuDNN, the driver or the GPUs of this machine.

use crate::runtime::facts::{Finding, FindingId, Policy, Severity, Version};
use crate::runtime::judge::program_rules::{
    AcceptedReleases, CudaMajorMismatch, DriverTooOld, DriverUser, ReleaseMismatch, UncoveredGpu,
};

impl ReleaseMismatch {
    /// Returns the finding, with this evidence about the loaded library first.
    pub fn finding(&self, loaded: Vec<(&'static str, String)>) -> Finding {
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
        FindingId::CudnnVersionMismatch
            .error(headline)
            .with_all(loaded)
            .with("built with", allowed)
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
    pub fn finding(&self) -> Finding {
        let (loaded, built_with) = (self.loaded, self.built_with);
        let help = self.keep.clone();
        FindingId::CudaFlavourMismatch.warning(format!(
            "loaded cuDNN was built for CUDA {loaded}, but this program was built with cuDNN for CUDA {built_with}"
        ))
        .help(help.unwrap_or_else(|| format!("install the cuDNN for CUDA {built_with}")))
    }
}

impl DriverTooOld {
    /// Returns the finding, an error only if a program with a GPU needs the driver.
    pub fn finding(&self) -> Finding {
        let (what, is_program) = match self.needed_by {
            DriverUser::LoadedCudnn => ("the loaded cuDNN requires", true),
            DriverUser::Program => ("this program requires", true),
            DriverUser::ChosenCudnn => ("cuDNN requires", false),
            DriverUser::ChosenToolkit => ("the toolkit requires", false),
        };
        let (driver, needed) = (self.driver.short(), self.needed);
        let finding = FindingId::DriverTooOld
            .error_if(
                is_program && self.has_gpu,
                format!("the NVIDIA driver supports CUDA {driver}, but {what} CUDA {needed}"),
            )
            .help(match &self.first_driver {
                Some(first) => format!(
                    "upgrade the NVIDIA driver to {first} or later, which supports CUDA {needed}"
                ),
                None => {
                    format!("upgrade the NVIDIA driver to a version that supports CUDA {needed}")
                }
            });
        if !is_program {
            return finding;
        }
        finding.help(format!(
            "use a program and a cuDNN that were built for CUDA {}",
            self.driver.major
        ))
    }
}

impl UncoveredGpu<'_> {
    /// Returns the finding, a warning if the program may run without the GPU.
    pub fn finding(&self) -> Finding {
        let gpu = self.gpu.words();
        let finding = match self.newer_ptx {
            None => FindingId::KernelsNotCoveringGpu.error_if(
                self.gpu.is_required,
                format!("no kernel of this program runs on {gpu}"),
            ),
            Some(ptx) => ptx.finding(
                Severity::error_if(self.gpu.is_required),
                &format!("the only code that could run on {gpu} is"),
            ),
        };
        let targets: Vec<String> = self.targets.iter().map(ToString::to_string).collect();
        finding.with("compiled", targets.join(", ")).help(format!(
            "rebuild the program with CUDNN_GUARD_ARCHS={}",
            self.gpu.capability
        ))
    }
}
