//! Why a build cannot go on.

use crate::model::finding::Finding;
use std::fmt;

/// Everything that stops the build, all of it at once. `Display` and `Debug` are the same whole text, since a
/// build script's error is printed with `Debug`.
#[derive(Clone)]
pub struct Error {
    findings: Vec<Finding>,
}

impl Error {
    pub(crate) fn new(findings: Vec<Finding>) -> Self {
        Self { findings }
    }

    /// Whether it is only that CUDA, nvcc or cuDNN is not on this machine, or not to be had for the target.
    pub fn is_not_found(&self) -> bool {
        self.findings.iter().all(|finding| {
            matches!(
                finding.id,
                "cuda-not-found"
                    | "cudnn-not-found"
                    | "cudnn-headers-missing"
                    | "nvcc-not-found"
                    | "platform-unsupported"
            )
        })
    }

    /// What stops the build, one by one.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl From<Finding> for Error {
    fn from(finding: Finding) -> Self {
        Self::new(vec![finding])
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, finding) in self.findings.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{finding}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
