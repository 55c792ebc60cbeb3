//! What was checked, what was not, and what came of it.

use crate::runtime::child::protocol::ChildReport;
use crate::runtime::facts::allowed;
use crate::runtime::facts::built::Built;
use crate::runtime::facts::finding::{Finding, Severity, Verdict, printable};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::json::Json;
use crate::runtime::facts::version::Version;
use crate::runtime::facts::version_source::VersionSource;
use crate::runtime::install::main_library::MainLibrary;
use crate::runtime::install::refusal;
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::loader::loader_words;
use crate::runtime::report::contents::{Contents, LoadedCudnn};
use crate::runtime::report::env_config::{EnvConfig, RequireGpu};
use crate::runtime::report::{json_members, text};
use crate::runtime::system::names::DRIVER;
use crate::runtime::system::platform;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::path::Path;

/// Everything that is known of the cuDNN under this program. Printed, it says what was checked and what was not.
pub struct Report {
    /// Given back by a function of this file: whoever drops a report would otherwise compile how all of it is given back.
    contents: ManuallyDrop<Box<Contents>>,
}

/// The cuDNN does not fit, or it is not known whether it does.
pub struct Failure {
    report: Report,
}

impl Deref for Report {
    type Target = Contents;

    fn deref(&self) -> &Contents {
        &self.contents
    }
}

impl DerefMut for Report {
    fn deref_mut(&mut self) -> &mut Contents {
        &mut self.contents
    }
}

impl Drop for Report {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: nobody sees them after this.
        unsafe { ManuallyDrop::drop(&mut self.contents) }
    }
}

impl Report {
    pub(crate) fn new(built: &Built) -> Self {
        let contents = Contents {
            built: built.clone(),
            loaded: None,
            driver: None,
            outcomes: Vec::new(),
            findings: Vec::new(),
            unchecked: Vec::new(),
            unknown: None,
            is_cudnn_absent: false,
            is_unwritten: false,
        };
        Self {
            contents: ManuallyDrop::new(Box::new(contents)),
        }
    }

    /// Pass only if everything was checked and fits.
    pub fn verdict(&self) -> Verdict {
        self.contents.verdict()
    }

    /// The file of the cuDNN that was judged.
    pub fn library_path(&self) -> Option<&Path> {
        self.loaded.as_ref().map(|loaded| loaded.path.as_path())
    }

    /// What was noticed.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The report as one line of JSON.
    pub fn to_json(&self) -> String {
        let devices = self.driver.as_ref();
        let devices = devices.map_or(&[][..], |driver| &driver.devices);
        Json::object(&[
            ("schema", Json::integer(json_members::SCHEMA)),
            ("verdict", Json::text(&self.verdict())),
            ("built", json_members::built(&self.built)),
            ("loaded", json_members::loaded(self.loaded.as_ref())),
            ("driver", json_members::driver(self.driver.as_ref())),
            ("devices", Json::list(devices, json_members::device)),
            (
                "convolution",
                Json::list(&self.outcomes, json_members::outcome),
            ),
            ("findings", Json::list(&self.findings, Finding::to_json)),
        ])
        .to_string()
    }

    pub(crate) fn set_loaded(&mut self, main_library: &MainLibrary, parts: &SubLibraries) {
        self.loaded = Some(LoadedCudnn {
            path: main_library.path.clone(),
            origin: main_library.origin.clone(),
            version: parts.release().or_else(|| {
                let answer = main_library.answer()?;
                Some((answer, VersionSource::Answer))
            }),
            cuda_major: None,
            parts: parts.list.clone(),
        });
    }

    pub(crate) fn merge_child_report(&mut self, answer: &mut ChildReport) {
        if let Some(loaded) = &mut self.loaded {
            loaded.cuda_major = answer.cuda_major;
            let called = answer
                .version
                .map(|version| (version, VersionSource::Answer));
            loaded.version = loaded.version.or(called);
        }
        self.driver = answer.driver.take();
        self.outcomes = std::mem::take(&mut answer.outcomes);
    }

    /// Returns the release of the cuDNN that is judged.
    pub(crate) fn release(&self) -> Option<Version> {
        Some(self.loaded.as_ref()?.version?.0)
    }

    /// Notes what was not checked, once.
    pub(crate) fn unchecked(&mut self, line: impl Into<String>) {
        let line = line.into();
        if !self.unchecked.contains(&line) {
            self.unchecked.push(line);
        }
    }

    /// Notes that the loader refuses a part, in its words.
    pub(crate) fn refused(&mut self, path: &Path, words: &str) {
        if loader_words::wants_driver(path, words) {
            // Without a driver nothing is wrong with this cuDNN.
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            return self.unchecked(format!("{file}: it is linked to {DRIVER}"));
        }
        let finding = refusal::finding(path, words);
        // That it cannot be read was a guess before, and now the loader says so too.
        let same = |known: &Finding| known.summary == finding.summary;
        self.findings.retain(|known| !same(known));
        self.add(finding);
    }

    /// Notes an error, or that the verdict is not known because of what is none.
    pub(crate) fn add(&mut self, finding: Finding) {
        match finding.severity {
            Severity::Error => self.findings.push(finding),
            _ => self.unknown(finding),
        }
    }

    /// Notes that the verdict is not known because of this.
    pub(crate) fn unknown(&mut self, finding: Finding) {
        self.unknown = self.unknown.or(Some(finding.id));
        self.findings.push(finding.into_warning());
    }

    /// Applies what the operator lets pass, and what is asked for on top.
    pub(crate) fn finish(mut self, env_config: &EnvConfig) -> Result<Self, Failure> {
        let required = env_config.require_gpu.request(self.built.require_gpu);
        let has_gpu = self.device_count() > 0;
        let contents = &mut *self.contents;
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
        // What stops the program comes first. To sort would be much code to compile for so few.
        let mut findings: Vec<Finding> = Vec::new();
        for finding in std::mem::take(&mut self.findings) {
            let rank = finding.severity as u8;
            let before = findings.iter().filter(|f| f.severity as u8 <= rank).count();
            findings.insert(before, finding);
        }
        self.findings = findings;
        match self.verdict() {
            Verdict::Pass => Ok(self),
            _ => Err(Failure { report: self }),
        }
    }

    /// How many GPUs the driver shows.
    pub(crate) fn device_count(&self) -> usize {
        let driver = self.driver.as_ref();
        driver.map_or(0, |driver| driver.devices.len())
    }
}

/// What `startup` prints in a line of its own.
fn is_said_apart(finding: &Finding) -> bool {
    matches!(finding.id, FindingId::VariableUnusable | FindingId::IoError)
        || allowed::let_pass(finding).is_some()
}

impl Failure {
    /// Fail or unknown; never pass.
    pub fn verdict(&self) -> Verdict {
        self.report.verdict()
    }

    /// What is known all the same.
    pub fn report(&self) -> &Report {
        &self.report
    }

    pub(crate) fn report_mut(&mut self) -> &mut Report {
        &mut self.report
    }

    /// What was noticed.
    pub fn findings(&self) -> &[Finding] {
        self.report.findings()
    }

    /// The report as one line of JSON.
    pub fn to_json(&self) -> String {
        self.report.to_json()
    }

    pub(crate) fn cause(&self) -> Option<&Finding> {
        self.report.cause()
    }

    /// What is not known, in at most four lines: the cause, the first help, and two lines of what it rests on or of what
    /// else was found.
    pub(crate) fn brief(&self) -> String {
        let mut text = self.headline();
        let cause = match self.cause() {
            Some(cause) if cause.id != FindingId::BuiltWithoutCuda => cause,
            _ => return text,
        };
        if let Some(help) = cause.help.first() {
            text += &format!("\n  = help: {}", printable(help));
        }
        let mut rows: Vec<(&str, String)> = Vec::new();
        let (mut others, mut of_gpu) = (Vec::new(), Vec::new());
        for finding in self.findings() {
            if finding == cause || finding.severity == Severity::Note || is_said_apart(finding) {
                continue;
            }
            let row = ("also", text::one_line(finding));
            match finding.id {
                // On a machine without one that is no news.
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

    /// The cause alone, in one line.
    pub fn headline(&self) -> String {
        match self.report.cause() {
            Some(finding) => finding.headline(),
            None => "nothing is known".to_string(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::stack(self, f)?;
        self.findings
            .iter()
            .try_for_each(|finding| write!(f, "\n\n{}: {}", finding.severity, finding))
    }
}

impl fmt::Display for Failure {
    /// The cause first, then what the build knew, then everything else.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = &self.report;
        let cause = report.cause();
        if let Some(cause) = cause {
            write!(f, "{cause}")?;
        }
        for finding in &report.built.findings {
            text::write_row(
                f,
                "at build",
                format!("{} [{}]", finding.summary, finding.id),
            )?;
        }
        if let Some(cause) = cause {
            text::write_row(f, "see", cause.page())?;
        }
        f.write_str("\n\n")?;
        text::stack(report, f)?;
        for finding in report
            .findings
            .iter()
            .filter(|finding| Some(*finding) != cause)
        {
            write!(f, "\n\n{}: {}", finding.severity, finding)?;
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
