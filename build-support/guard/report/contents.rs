//! The contents of a report.

use crate::runtime::child::protocol::ChildReport;
use crate::runtime::child::work::SecondTry;
use crate::runtime::convolution::case_result::CaseResult;
use crate::runtime::driver::query::Driver;
use crate::runtime::facts::{
    Built, Finding, FindingId, Severity, SourcedVersion, Verdict, Version, VersionSource,
};
use crate::runtime::install::main_library::MainLibrary;
use crate::runtime::install::refusal;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::loader::loader_words;
use crate::runtime::loader::search_path::LoadOrigin;
use crate::runtime::system::names::DRIVER;
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
    pub fn new(built: &Built) -> Self {
        Self {
            built: built.clone(),
            loaded: None,
            driver: None,
            outcomes: Vec::new(),
            findings: Vec::new(),
            unchecked: Vec::new(),
            unknown: None,
            is_cudnn_absent: false,
            is_unwritten: false,
        }
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
            second.lower(&mut finding);
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
