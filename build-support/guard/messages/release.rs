//! Versions of cuDNN and CUDA that are known to be bad, or newer than the tables.

use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::judge::rules::{Impact, KnownBadRelease, NewerRelease};

impl KnownBadRelease<'_> {
    /// Returns the finding, an error only if the program uses the operation and every use shows the fault.
    pub fn finding(&self) -> Finding {
        let operation = self.row.operation.as_deref().unwrap_or_default();
        let (severity, used) = match self.impact {
            Impact::Used if self.row.partial => (
                Severity::Warning,
                format!(", and this program uses {operation}"),
            ),
            Impact::Used => (Severity::Error, ", which this program uses".to_string()),
            Impact::General => (Severity::Warning, String::new()),
            Impact::Possible => (Severity::Note, String::new()),
        };
        let headline = format!("cuDNN {} is known to {}{used}", self.cudnn, self.row.what);
        let help = match self.row.good {
            Some(good) => format!("upgrade to cuDNN {good} or later"),
            None => "check the results: no version without this bug is known".to_string(),
        };
        Finding::new(FindingId::KnownBadRelease, severity, headline).help(help)
    }
}

impl NewerRelease {
    /// Returns the note that older rules are used.
    pub fn finding(&self) -> Finding {
        let (product, found, known) = match self {
            Self::Cuda(found, known) => ("CUDA", found.short(), known.short()),
            Self::Cudnn(found, known) => ("cuDNN", found.to_string(), known.to_string()),
        };
        let headline = format!(
            "{product} {found} is newer than cudnn-guard knows; using the rules for {known}"
        );
        Finding::note(FindingId::UnknownNewerVersion, headline)
            .help("update cudnn-guard if you see problems")
    }
}
