//! The report of a search, as text and as JSON.

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
use crate::compat::cudarc_refusals::{self, Installed};
#[cfg(feature = "cli")]
use crate::compat::cudarc_sources::{locked, resolve};
#[cfg(feature = "cli")]
use crate::compat::{cargo_lock, cudarc};
use crate::model::candidate::{Candidate, Cudnn, Toolkit, chosen};
use crate::model::found_via::FoundVia;
#[cfg(feature = "cli")]
use crate::model::platform::Os;
use crate::runtime::driver::query::{Device, Driver};
use crate::runtime::facts::compute_capability::Target;
use crate::runtime::facts::finding::{Finding, Severity, Verdict};
#[cfg(feature = "cli")]
use crate::runtime::loader::search_path::SearchPath;
use crate::search::search_step::Kind;
use crate::toolchain::Toolchain;
#[cfg(feature = "cli")]
use std::env::consts::{ARCH, OS};
use std::fmt;
#[cfg(feature = "cli")]
use std::path::PathBuf;

/// A report of this machine: the installations found, and the findings about them.
///
/// `{}` prints all of it for a terminal of 80 columns, `{:120}` for one of 120; `{:#}` only the chosen CUDA and cuDNN.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub(crate) toolkit: Option<Toolkit>,
    pub(crate) cudnn: Option<Cudnn>,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) findings: Vec<Finding>,
    /// The kinds that this build does not require.
    pub(crate) unrequired: Vec<Kind>,
    pub(crate) machine: Option<Machine>,
    /// The cudarc version that the crate in the current directory uses.
    pub(crate) cudarc: Option<String>,
}

/// The state of the running machine; empty if it was not queried.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// The machine code targets of the toolkit's nvcc.
    #[cfg(feature = "cli")]
    pub(crate) gpu_codes: Vec<Target>,
    /// The description of nvcc's host compiler.
    pub(crate) host_compiler: Option<String>,
    /// The driver. Its devices are in `gpus`.
    pub(crate) driver: Option<Driver>,
    pub(crate) gpus: Vec<Device>,
    /// The targets for which kernels would be compiled.
    pub(crate) targets: Vec<Target>,
}

impl Toolchain {
    /// Returns the report of the search. Nothing is queried again.
    pub fn report(&self) -> Report {
        Report {
            toolkit: self.toolkit().cloned(),
            cudnn: self.cudnn().cloned(),
            candidates: self.candidates.clone(),
            findings: self.findings.clone(),
            unrequired: self.needs.unrequired(),
            ..Report::default()
        }
    }

    /// Returns the report of the search with the state of this machine: its driver, its GPUs, the default targets, and
    /// the cudarc of the crate in the current directory. With `root` or `target` of another system the GPUs are left
    /// out.
    #[cfg(feature = "cli")]
    pub fn examine(&self) -> Report {
        let mut report = self.report();
        let findings = report.findings.iter_mut();
        findings.for_each(Finding::omit_installation);
        let lock = cargo_lock::texts(&self.host.env, "Cargo.lock").next();
        let lock = lock.unwrap_or_default();
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
        let driver = report.machine.as_ref().and_then(|one| one.driver.as_ref());
        let search_path = report.machine.as_ref().map(|_| SearchPath::of_program());
        let installed = Installed {
            env: &self.host.env,
            os: platform.os,
            toolkit: self.toolkit(),
            cudnn: self.cudnn(),
            driver: driver.and_then(|driver| driver.cuda),
            loads: &|name| search_path.as_ref()?.program_file(name),
        };
        let resolve = |version: &str| resolve(version, &self.host.env);
        for cudarc in locked(&lock, &self.host.env, &resolve) {
            let refusals = cudarc_refusals::find(&cudarc, &installed).into_iter();
            let found = refusals.map(|refusal| refusal.finding(&cudarc));
            report.findings.extend(found);
        }
        report
    }
}

impl Report {
    /// Returns fail if a finding is an error; unknown if something could not be checked; else pass.
    pub fn verdict(&self) -> Verdict {
        if self.of(Severity::Error).next().is_some() {
            Verdict::Fail
        } else if self.unchecked().is_empty() {
            Verdict::Pass
        } else {
            Verdict::Unknown
        }
    }

    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns `true` if both a CUDA toolkit and a cuDNN were chosen.
    #[cfg(feature = "cli")]
    pub fn is_complete(&self) -> bool {
        self.toolkit.is_some() && self.cudnn.is_some()
    }

    /// Returns `true` if kernels can be compiled.
    #[cfg(feature = "cli")]
    pub fn has_nvcc(&self) -> bool {
        self.toolkit.iter().any(|toolkit| toolkit.nvcc.is_some())
    }

    /// Returns the directories that the loader must search for a program that opens cuDNN and CUDA itself.
    #[cfg(feature = "cli")]
    pub fn library_dirs(&self) -> Vec<PathBuf> {
        let cudnn = self.cudnn.as_ref().and_then(|one| one.link_dir.clone());
        let toolkit = self.toolkit.as_ref().map(|one| one.link_dirs.clone());
        [Vec::from_iter(cudnn), toolkit.unwrap_or_default()].concat()
    }

    /// Returns the report as JSON, as `cudnn-guard doctor --json` prints it.
    #[cfg(feature = "cli")]
    pub fn to_json(&self) -> String {
        json::report(self).to_string()
    }

    /// Returns the findings of a severity.
    fn of(&self, severity: Severity) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(move |finding| finding.severity == severity)
    }

    /// Returns what could not be checked, for messages.
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

    /// Returns how the chosen installation of this kind was found.
    fn via(&self, kind: Kind) -> Option<&FoundVia> {
        Some(&chosen(&self.candidates, kind)?.via)
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
