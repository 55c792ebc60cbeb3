//! The report of a search, as text and as JSON.

#[cfg(feature = "cli")]
pub mod host_compiler;
#[cfg(feature = "cli")]
pub mod json;
pub mod layout;
#[cfg(feature = "cli")]
pub mod machine;
#[cfg(feature = "cli")]
pub mod target_report;
#[cfg(test)]
mod tests;
pub mod text;

use crate::model::candidate::chosen;
use crate::model::{Candidate, Cudnn, FoundVia, Kind, Toolkit};
use crate::runtime::driver::{Device, Driver};
use crate::runtime::facts::{Finding, Severity, Target, Verdict};
use crate::toolchain::Toolchain;
use std::fmt;
use std::path::PathBuf;

/// A report about this machine: the installations found, and the findings about them.
///
/// `{}` prints the full report for a terminal of 80 columns, `{:120}` for 120 columns. `{:#}` prints only the chosen
/// CUDA and cuDNN.
///
/// ```no_run
/// let report = cudnn_guard::Config::new().cudnn(">=9").probe()?.report();
/// std::fs::write(std::env::var("OUT_DIR")? + "/cuda.txt", report.to_string())?;
/// # Ok::<(), cudnn_guard::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ToolchainReport {
    pub(crate) toolkit: Option<Toolkit>,
    pub(crate) cudnn: Option<Cudnn>,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) findings: Vec<Finding>,
    /// The kinds that this build does not require.
    pub(crate) unrequired: Vec<Kind>,
    pub(crate) machine: Option<Machine>,
    /// The cudarc version that the crate in the current directory uses, with the feature to enable.
    pub(crate) cudarc: Option<String>,
    /// The reason why a framework may not use the GPU.
    pub(crate) doubt: Option<String>,
}

/// The state of the running machine; empty if it was not queried.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// The machine code targets of the toolkit's nvcc.
    #[cfg(feature = "cli")]
    pub(crate) gpu_codes: Vec<Target>,
    pub(crate) host_compiler: Option<String>,
    /// `true` if it is known which versions of it CUDA supports.
    pub(crate) knows_host_compiler: bool,
    /// The driver. Its devices are in `gpus`.
    pub(crate) driver: Option<Driver>,
    pub(crate) gpus: Vec<Device>,
    /// The targets for which kernels would be compiled.
    pub(crate) targets: Vec<Target>,
}

impl Toolchain {
    /// Returns the report of the search, with the nvcc that compiles for the target.
    pub fn report(&self) -> ToolchainReport {
        let nvcc = self.nvcc().map(PathBuf::from);
        let with_nvcc = |one: &Toolkit| Toolkit {
            nvcc,
            ..one.clone()
        };
        ToolchainReport {
            toolkit: self.toolkit().map(with_nvcc),
            cudnn: self.cudnn().cloned(),
            candidates: self.candidates.clone(),
            findings: self.findings.clone(),
            unrequired: self.needs.unrequired(),
            ..ToolchainReport::default()
        }
    }
}

impl ToolchainReport {
    /// Returns fail if a finding is an error, unknown if something could not be checked, and pass otherwise.
    pub fn verdict(&self) -> Verdict {
        verdict(&self.findings, self.unchecked().is_empty())
    }

    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn with_severity(&self, severity: Severity) -> Vec<&Finding> {
        let mut findings = Vec::new();
        for finding in &self.findings {
            if finding.severity == severity {
                findings.push(finding);
            }
        }
        findings
    }

    /// Returns what could not be checked, for messages.
    fn unchecked(&self) -> Vec<&str> {
        let mut unchecked = Vec::new();
        if let Some(cudnn) = &self.cudnn {
            if cudnn.library.is_some() && cudnn.library_version.is_none() {
                unchecked.push("library version unknown");
            }
        }
        for (kind, is_missing, text) in [
            (Kind::Toolkit, self.toolkit.is_none(), "no CUDA toolkit"),
            (Kind::Cudnn, self.cudnn.is_none(), "no cuDNN"),
        ] {
            if is_missing && !self.unrequired.contains(&kind) {
                unchecked.push(text);
            }
        }
        match &self.machine {
            None => unchecked.push("driver and GPUs not queried"),
            Some(machine) if machine.driver.is_none() => unchecked.push("no driver"),
            Some(machine) if machine.gpus.is_empty() => unchecked.push("no GPU"),
            Some(machine) if machine.driver.iter().any(|it| it.cuda.is_none()) => {
                unchecked.push("driver version unknown");
            }
            Some(machine) if machine.host_compiler.is_some() && !machine.knows_host_compiler => {
                unchecked.push("host compiler support unknown");
            }
            Some(_) => {}
        }
        unchecked.extend(self.doubt.as_deref());
        unchecked
    }

    /// Returns how the chosen installation of this kind was found.
    fn via(&self, kind: Kind) -> Option<&FoundVia> {
        Some(&chosen(&self.candidates, kind)?.via)
    }
}

/// Returns fail if a finding is an error, unknown if something was not checked, and pass otherwise.
pub(crate) fn verdict(findings: &[Finding], all_checked: bool) -> Verdict {
    let is_error = |finding: &Finding| finding.severity == Severity::Error;
    match findings.iter().any(is_error) {
        true => Verdict::Fail,
        false if all_checked => Verdict::Pass,
        false => Verdict::Unknown,
    }
}

impl fmt::Display for ToolchainReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::report(self, f)
    }
}
