//! The result of a check.

use crate::runtime::driver::query::{Device, Driver};
use crate::runtime::facts::{
    Finding, FindingId, Json, Severity, Verdict, Version, allowed, printable,
};
use crate::runtime::report::contents::Contents;
use crate::runtime::report::env_config::{EnvConfig, RequireGpu};
use crate::runtime::report::{json_members, text};
use crate::runtime::system::platform;
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::Path;

/// Everything that is known about the cuDNN of this program. Its text lists what was checked and what was not.
pub struct Report {
    /// Dropped by a function of this file: otherwise every crate that drops a report would compile the code for that.
    pub(crate) contents: ManuallyDrop<Box<Contents>>,
}

/// The cuDNN is incompatible, or its compatibility is unknown.
pub struct Failure {
    pub(crate) report: Report,
}

impl Drop for Report {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: nothing uses the contents after this.
        unsafe { ManuallyDrop::drop(&mut self.contents) }
    }
}

impl Report {
    /// Returns the verdict: pass only if everything was checked and is compatible.
    pub fn verdict(&self) -> Verdict {
        self.contents.verdict()
    }

    /// Returns the file of the cuDNN that was checked.
    pub fn library_path(&self) -> Option<&Path> {
        Some(&self.contents.loaded.as_ref()?.path)
    }

    /// Returns the version of the cuDNN that was checked.
    pub fn cudnn_version(&self) -> Option<Version> {
        self.contents.cudnn_version()
    }

    /// Returns NVIDIA's driver, if it was queried.
    pub fn driver(&self) -> Option<&Driver> {
        self.contents.driver.as_ref()
    }

    /// Returns the GPUs that the program sees, in CUDA's order.
    pub fn devices(&self) -> &[Device] {
        self.driver().map_or(&[], |driver| &driver.devices)
    }

    /// Returns the findings, errors first.
    pub fn findings(&self) -> &[Finding] {
        &self.contents.findings
    }

    /// Returns the report as a line of JSON.
    pub fn to_json(&self) -> String {
        let contents = &self.contents;
        let outcomes = Json::list(&contents.outcomes, json_members::outcome);
        let members = vec![
            ("built", json_members::built(&contents.built)),
            ("loaded", json_members::loaded(contents.loaded.as_ref())),
            ("driver", json_members::driver(contents.driver.as_ref())),
            ("devices", Json::list(self.devices(), json_members::device)),
            ("convolution", outcomes),
        ];
        json_members::document("report", self.verdict(), members, &contents.findings)
    }

    /// Applies the operator's allowed findings and requirements, and sorts the findings.
    pub(crate) fn finish(mut contents: Contents, env_config: &EnvConfig) -> Result<Self, Failure> {
        let required = env_config.require_gpu.request(contents.built.require_gpu);
        let has_gpu = contents.device_count() > 0;
        env_config.allow.apply(&mut contents.findings);
        for finding in &mut contents.findings {
            if platform::is_privileged() {
                finding.without_library_path();
            }
            let allowed = env_config.allow.contains(finding.id.as_str());
            let ends = match env_config.require_gpu {
                RequireGpu::Strict => Some(finding.id) == contents.unknown,
                _ => {
                    finding.id.is_gpu_absent() && !has_gpu
                        || finding.id == FindingId::CudnnNotLoadable && contents.is_cudnn_absent
                }
            };
            if let (Some(by), false, true) = (required, allowed, ends) {
                finding.override_severity(Severity::Error, "required", by);
            }
        }
        // Errors come first. A sort would be much code to compile for a few findings.
        let mut findings: Vec<Finding> = Vec::new();
        for finding in std::mem::take(&mut contents.findings) {
            let rank = finding.severity as u8;
            let before = findings.iter().filter(|f| f.severity as u8 <= rank).count();
            findings.insert(before, finding);
        }
        contents.findings = findings;
        let report = Self {
            contents: ManuallyDrop::new(Box::new(contents)),
        };
        match report.verdict() {
            Verdict::Pass => Ok(report),
            _ => Err(Failure { report }),
        }
    }
}

/// Returns `true` if `startup` prints the finding in a separate line.
fn is_printed_separately(finding: &Finding) -> bool {
    matches!(finding.id, FindingId::VariableUnusable | FindingId::IoError)
        || allowed::allowed_by(finding).is_some()
}

impl Failure {
    /// Returns the verdict: fail or unknown, never pass.
    pub fn verdict(&self) -> Verdict {
        self.report.verdict()
    }

    /// Returns the report.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns the findings, errors first.
    pub fn findings(&self) -> &[Finding] {
        self.report.findings()
    }

    /// Returns the report as a line of JSON.
    pub fn to_json(&self) -> String {
        self.report.to_json()
    }

    /// Returns an unknown verdict in at most four lines: the cause, the first help, and two lines of evidence or other
    /// findings.
    pub(crate) fn brief(&self) -> String {
        let mut text = self.headline();
        let cause = match self.report.contents.cause() {
            Some(cause) if cause.id != FindingId::BuiltWithoutCuda => cause,
            _ => return text,
        };
        if let Some(help) = cause.help.first() {
            text += &format!("\n  = help: {}", printable(help));
        }
        let mut rows: Vec<(&str, String)> = Vec::new();
        let (mut others, mut of_gpu) = (Vec::new(), Vec::new());
        for finding in self.findings() {
            if finding == cause
                || finding.severity == Severity::Note
                || is_printed_separately(finding)
            {
                continue;
            }
            let row = ("also", text::one_line(finding));
            match finding.id {
                // Expected on a machine without a GPU.
                FindingId::DriverMissing | FindingId::NoGpu => of_gpu.push(row),
                _ => others.push(row),
            }
        }
        for (index, (label, value)) in cause.evidence.iter().enumerate() {
            rows.push((*label, text::in_one_line(value)));
            if index == 0 {
                rows.append(&mut others);
            }
        }
        rows.append(&mut others);
        rows.append(&mut of_gpu);
        rows.truncate(2);
        for (label, value) in rows {
            text += &format!("\n  {:<12}{}", label, printable(&value));
        }
        text
    }

    /// Returns the cause in a line.
    pub fn headline(&self) -> String {
        match self.report.contents.cause() {
            Some(finding) => finding.headline(),
            None => "nothing is known".to_string(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::stack(&self.contents, f)?;
        let mut findings = self.contents.findings.iter();
        findings.try_for_each(|finding| write!(f, "\n\n{}: {}", finding.severity, finding))
    }
}

impl fmt::Display for Failure {
    /// Writes the cause, then the findings of the build, then the rest of the report.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = &self.report;
        let cause = report.contents.cause();
        if let Some(cause) = cause {
            write!(f, "{cause}")?;
        }
        for finding in &report.contents.built.findings {
            let text = format!("{} [{}]", finding.summary, finding.id);
            text::write_row(f, "at build", text)?;
        }
        if let Some(cause) = cause {
            text::write_row(f, "see", cause.page())?;
        }
        f.write_str("\n\n")?;
        text::stack(&report.contents, f)?;
        for finding in &report.contents.findings {
            if Some(finding) != cause {
                write!(f, "\n\n{}: {}", finding.severity, finding)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failure {}
