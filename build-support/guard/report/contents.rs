//! The contents of a report.

use crate::runtime::convolution::case_result::CaseResult;
use crate::runtime::driver::query::Driver;
use crate::runtime::facts::{Built, Finding, FindingId, Severity, SourcedVersion, Verdict};
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::loader::search_path::LoadOrigin;
use std::path::PathBuf;

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
}
