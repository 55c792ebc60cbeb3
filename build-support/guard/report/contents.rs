//! What is in a report.

use crate::runtime::convolution::case_result::CaseResult;
use crate::runtime::driver::query::Driver;
use crate::runtime::facts::built::Built;
use crate::runtime::facts::finding::{Finding, Severity, Verdict};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version_source::SourcedVersion;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::loader::search_path::LoadOrigin;
use std::path::PathBuf;

/// The cuDNN that was judged.
pub struct LoadedCudnn {
    /// The file of its first library.
    pub path: PathBuf,
    /// What made the loader take it.
    pub origin: LoadOrigin,
    /// Its release, and what told it.
    pub version: Option<SourcedVersion>,
    /// The CUDA major that it was built for.
    pub cuda_major: Option<u32>,
    /// Its parts.
    pub parts: Vec<SubLibraryFile>,
}

/// What is in a report.
pub struct Contents {
    pub(crate) built: Built,
    pub(crate) loaded: Option<LoadedCudnn>,
    pub(crate) driver: Option<Driver>,
    pub(crate) outcomes: Vec<CaseResult>,
    pub(crate) findings: Vec<Finding>,
    /// What was not looked at, and why.
    pub(crate) unchecked: Vec<String>,
    /// The id of the first finding for which the verdict is not known.
    pub(crate) unknown: Option<FindingId>,
    /// The program finds no cuDNN, and not for want of memory or files.
    pub(crate) is_cudnn_absent: bool,
    /// That the report cannot be written, which is the last of the findings.
    pub(crate) is_unwritten: bool,
}

impl Contents {
    /// Pass only if everything was checked and fits.
    pub fn verdict(&self) -> Verdict {
        if self
            .findings
            .iter()
            .any(|finding| finding.severity == Severity::Error)
        {
            Verdict::Fail
        } else if self.unknown.is_some() {
            Verdict::Unknown
        } else {
            Verdict::Pass
        }
    }

    /// The finding that decides.
    pub(crate) fn cause(&self) -> Option<&Finding> {
        let unknown = self
            .findings
            .iter()
            .find(|finding| Some(finding.id) == self.unknown);
        self.findings
            .iter()
            .find(|finding| finding.severity == Severity::Error)
            .or(unknown)
    }
}
