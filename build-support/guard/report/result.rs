//! The result of a check.

use crate::runtime::child::{ChildReport, SecondTry};
use crate::runtime::convolution::CaseResult;
use crate::runtime::driver::{Device, Driver};
use crate::runtime::facts::{
    Built, Finding, FindingId, Json, Severity, SourcedVersion, Verdict, Version, VersionSource,
    allowed, printable,
};
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::install::{MainLibrary, SubLibraryFile, refusal};
use crate::runtime::loader::{LoadOrigin, loader_words};
use crate::runtime::report::{EnvConfig, RequireGpu, json_members, text};
use crate::runtime::system::{DRIVER, platform};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

/// The cuDNN that was checked.
pub struct LoadedCudnn {
    /// The file of its main library.
    pub path: PathBuf,
    /// The reason why the loader selects it.
    pub origin: LoadOrigin,
    pub version: Option<SourcedVersion>,
    /// The CUDA major that it was built for.
    pub cuda_major: Option<u32>,
    pub parts: Vec<SubLibraryFile>,
}

#[derive(Default)]
pub struct Contents {
    pub(crate) built: Built,
    pub(crate) loaded: Option<LoadedCudnn>,
    pub(crate) driver: Option<Driver>,
    pub(crate) outcomes: Vec<CaseResult>,
    pub(crate) findings: Vec<Finding>,
    /// The checks that were not done, with their reasons.
    pub(crate) unchecked: Vec<String>,
    /// The id of the first finding that leaves the verdict unknown.
    pub(crate) unknown: Option<FindingId>,
    /// `true` if the program finds no cuDNN for another reason than a lack of memory or files.
    pub(crate) is_cudnn_absent: bool,
    /// `true` if the last finding is that the report could not be written.
    pub(crate) is_unwritten: bool,
}

impl Contents {
    pub fn new(built: &Built) -> Box<Self> {
        Box::new(Self {
            built: built.clone(),
            ..Self::default()
        })
    }

    /// Returns pass only if everything was checked and is compatible.
    pub fn verdict(&self) -> Verdict {
        match self.error() {
            Some(_) => Verdict::Fail,
            None if self.unknown.is_some() => Verdict::Unknown,
            None => Verdict::Pass,
        }
    }

    /// Returns `true` if a convolution passed.
    pub(crate) fn has_passed(&self) -> bool {
        let mut outcomes = self.outcomes.iter();
        outcomes.any(|outcome| outcome.verdict == Verdict::Pass)
    }

    fn error(&self) -> Option<&Finding> {
        let mut findings = self.findings.iter();
        findings.find(|finding| finding.severity == Severity::Error)
    }

    /// Returns the finding that decides the verdict.
    pub(crate) fn cause(&self) -> Option<&Finding> {
        let is_unknown = |finding: &&Finding| Some(finding.id) == self.unknown;
        self.error()
            .or_else(|| self.findings.iter().find(is_unknown))
    }

    pub(crate) fn cudnn_version(&self) -> Option<Version> {
        Some(self.loaded.as_ref()?.version?.0)
    }

    pub(crate) fn device_count(&self) -> usize {
        self.driver
            .as_ref()
            .map_or(0, |driver| driver.devices.len())
    }

    pub(crate) fn set_loaded(&mut self, main_library: &MainLibrary, parts: &SubLibraries) {
        self.loaded = Some(LoadedCudnn {
            path: main_library.path.clone(),
            origin: main_library.origin.clone(),
            version: parts.installed.version().or_else(|| {
                let answer = main_library.answer()?;
                Some((answer, VersionSource::Answer))
            }),
            cuda_major: None,
            parts: parts.installed.list.clone(),
        });
    }

    pub(crate) fn merge_child_report(&mut self, answer: &mut ChildReport) {
        if let Some(loaded) = &mut self.loaded {
            loaded.cuda_major = answer.cuda_major;
            let called = answer.version;
            let called = called.map(|version| (version, VersionSource::Answer));
            loaded.version = loaded.version.or(called);
        }
        self.driver = answer.driver.take();
        self.outcomes = std::mem::take(&mut answer.outcomes);
    }

    /// Notes what was not checked, once.
    pub(crate) fn unchecked(&mut self, line: impl Into<String>) {
        let line = line.into();
        if !self.unchecked.contains(&line) {
            self.unchecked.push(line);
        }
    }

    /// Adds the loader's refusal of a sub-library, with its message. It did not recur in the second child, if given.
    pub(crate) fn refused(&mut self, path: &Path, message: &str, second: Option<&SecondTry>) {
        if loader_words::requires_driver(path, message) {
            // Without a driver nothing is wrong with this cuDNN.
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            return self.unchecked(format!("{file}: requires {DRIVER}"));
        }
        let mut finding = refusal::finding(path, message);
        if let (Severity::Error, Some(second)) = (finding.severity, second) {
            finding = second.of_first(finding);
        }
        // Replaces the same finding from before the loader's refusal, such as that the file cannot be read.
        let same = |known: &Finding| known.summary == finding.summary;
        self.findings.retain(|known| !same(known));
        self.add(finding);
    }

    /// Adds a finding. If it is not an error, it leaves the verdict unknown.
    pub(crate) fn add(&mut self, finding: Finding) {
        match finding.severity {
            Severity::Error => self.findings.push(finding),
            _ => self.unknown(finding),
        }
    }

    /// Adds a finding that leaves the verdict unknown.
    pub(crate) fn unknown(&mut self, finding: Finding) {
        self.unknown = self.unknown.or(Some(finding.id));
        self.findings.push(finding.into_warning());
    }
}

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
    pub(crate) fn finish(
        mut contents: Box<Contents>,
        env_config: &EnvConfig,
    ) -> Result<Self, Failure> {
        let required = env_config.require_gpu.request(contents.built.require_gpu);
        let has_gpu = contents.device_count() > 0;
        env_config.allow.apply(&mut contents.findings);
        for finding in &mut contents.findings {
            if platform::is_privileged() {
                finding.without_library_path();
            }
            let allowed = env_config.allow.contains(finding.id);
            let ends = match env_config.require_gpu {
                RequireGpu::Strict => Some(finding.id) == contents.unknown,
                _ => {
                    finding.id.is_gpu_absent() && !has_gpu
                        // A library of the provider, without which ONNX Runtime uses the CPU.
                        || finding.id == FindingId::LibraryNotFound
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
            contents: ManuallyDrop::new(contents),
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
            text::write_row(f, "at build", &text)?;
        }
        if let Some(cause) = cause {
            text::write_row(f, "see", &cause.page())?;
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
