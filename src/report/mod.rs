//! What was found, as text and as JSON.

#[cfg(feature = "cli")]
pub mod json;
pub mod layout;
#[cfg(feature = "cli")]
pub mod machine;
#[cfg(feature = "cli")]
pub mod not_opened;
#[cfg(feature = "cli")]
pub mod target_report;
#[cfg(test)]
mod tests;
pub mod text;

#[cfg(feature = "cli")]
use crate::compat::cudarc;
use crate::model::candidate::{Candidate, Cudnn, Toolkit};
use crate::model::found_via::FoundVia;
#[cfg(feature = "cli")]
use crate::model::platform::Os;
use crate::runtime::driver::query::{Device, Driver};
use crate::runtime::facts::compute_capability::Target;
use crate::runtime::facts::finding::{Finding, Severity, Verdict};
use crate::search::search_step::Kind;
#[cfg(feature = "cli")]
use crate::system::files;
use crate::toolchain::Toolchain;
#[cfg(feature = "cli")]
use std::env::consts::{ARCH, OS};
use std::fmt;
#[cfg(feature = "cli")]
use std::path::{Path, PathBuf};

/// What this machine has, what was passed over, and what is thought of it.
///
/// `{}` prints all of it for a terminal of 80 columns, `{:120}` for one of 120; `{:#}` the chosen CUDA and cuDNN alone.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub(crate) toolkit: Option<Toolkit>,
    pub(crate) cudnn: Option<Cudnn>,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) findings: Vec<Finding>,
    /// What this build does not need.
    pub(crate) unasked: Vec<Kind>,
    pub(crate) machine: Option<Machine>,
    /// The release of cudarc that the crate in the current directory uses.
    pub(crate) cudarc: Option<String>,
}

/// What only the running machine can tell; what was not answered is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// What the toolkit's nvcc makes machine code for.
    #[cfg(feature = "cli")]
    pub(crate) gpu_codes: Vec<Target>,
    /// What nvcc takes for host code, in words.
    pub(crate) host_compiler: Option<String>,
    /// The driver. Its devices stand in `gpus`.
    pub(crate) driver: Option<Driver>,
    /// The GPUs that programs see.
    pub(crate) gpus: Vec<Device>,
    /// What kernels would be compiled for.
    pub(crate) targets: Vec<Target>,
}

impl Toolchain {
    /// What was found. Nothing is asked anew.
    pub fn report(&self) -> Report {
        Report {
            toolkit: self.toolkit().cloned(),
            cudnn: self.cudnn().cloned(),
            candidates: self.candidates.clone(),
            findings: self.findings.clone(),
            unasked: self.needs.unrequired(),
            ..Report::default()
        }
    }

    /// What was found, and what only the running machine can tell: its driver, its GPUs and the targets that they
    /// lead to, and whether the crate in the current directory uses cudarc. Where another system than this one is looked
    /// at (`root`, `target`), its GPUs are not these.
    #[cfg(feature = "cli")]
    pub fn examine(&self) -> Report {
        let mut report = self.report();
        let findings = report.findings.iter_mut();
        findings.for_each(Finding::omit_installation);
        let lock = files::read(Path::new("Cargo.lock")).unwrap_or_default();
        report.cudarc = cudarc::in_lock(&lock).map(String::from);
        let platform = &self.host.platform;
        let is_this = platform.cpu == ARCH
            && match platform.os {
                Os::Linux => OS == "linux",
                Os::Windows => OS == "windows",
                Os::Other => false,
            };
        if is_this && self.config.root.is_none() {
            report.machine = Some(machine::ask(self, &mut report.findings));
        }
        report
    }
}

impl Report {
    /// Fail if a finding is an error; unknown if something could not be checked; else pass.
    pub fn verdict(&self) -> Verdict {
        if self.of(Severity::Error).next().is_some() {
            Verdict::Fail
        } else if self.unchecked().is_empty() {
            Verdict::Pass
        } else {
            Verdict::Unknown
        }
    }

    /// What was noticed.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Whether there is both a CUDA toolkit and a cuDNN.
    #[cfg(feature = "cli")]
    pub fn is_complete(&self) -> bool {
        self.toolkit.is_some() && self.cudnn.is_some()
    }

    /// Whether kernels can be compiled.
    #[cfg(feature = "cli")]
    pub fn has_nvcc(&self) -> bool {
        self.toolkit.iter().any(|toolkit| toolkit.nvcc.is_some())
    }

    /// The directories that a program which opens cuDNN and CUDA itself has to find.
    #[cfg(feature = "cli")]
    pub fn library_dirs(&self) -> Vec<PathBuf> {
        let cudnn = self.cudnn.iter().flat_map(|one| one.link_dir.clone());
        let toolkit = self.toolkit.iter().flat_map(|one| one.link_dirs.clone());
        cudnn.chain(toolkit).collect()
    }

    /// The report for programs, as `cudnn-guard doctor --json` prints it.
    #[cfg(feature = "cli")]
    pub fn to_json(&self) -> String {
        json::report(self).to_string()
    }

    /// What matters so much.
    fn of(&self, severity: Severity) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(move |finding| finding.severity == severity)
    }

    /// What nobody could look at, in words.
    fn unchecked(&self) -> Vec<&'static str> {
        let mut unchecked = Vec::new();
        if let Some(cudnn) = &self.cudnn {
            if cudnn.library.is_some() && cudnn.library_version.is_none() {
                unchecked.push("the library does not tell its release");
            }
        }
        match &self.machine {
            None => unchecked.push("no driver and no GPU was asked"),
            Some(machine) if machine.driver.is_none() => unchecked.push("there is no driver here"),
            Some(machine) if machine.gpus.is_empty() => unchecked.push("there is no GPU here"),
            Some(_) => {}
        }
        unchecked
    }

    /// How the chosen one of this kind was found.
    fn via(&self, kind: Kind) -> Option<&FoundVia> {
        let mut chosen = self.candidates.iter().filter(|one| one.chosen);
        let one = chosen.find(|one| one.kind() == kind)?;
        Some(&one.via)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            text::stack(self, f)
        } else {
            text::report(self, f)
        }
    }
}
