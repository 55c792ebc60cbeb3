//! The version of the loaded cuDNN.

use crate::runtime::facts::built::Policy;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;
use crate::runtime::judge::rules::{
    AcceptedReleases, CudaMajorMismatch, Impact, KnownBadRelease, NewerRelease, ReleaseMismatch,
};

impl ReleaseMismatch {
    /// Returns the finding, with this evidence about the loaded library first.
    pub fn finding(&self, loaded: Vec<(&'static str, String)>) -> Finding {
        let name = if self.is_major {
            self.loaded.major.to_string()
        } else {
            self.loaded.to_string()
        };
        let (headline, allowed) = match &self.accepted {
            AcceptedReleases::Requirement(text) => (
                format!(
                    "loaded cuDNN {name} does not meet the `{text}` that this program asks for"
                ),
                format!("the requirement `{text}`"),
            ),
            AcceptedReleases::BuiltWith(with, policy) => {
                let relation = if self.loaded.major != with.major {
                    "is of another major release than"
                } else if self.loaded < *with {
                    "is older than"
                } else {
                    "is newer than"
                };
                let range = match policy {
                    Policy::Compatible | Policy::Requirement => or_later(*with),
                    Policy::SameMinor => format!("any {}", with.short()),
                    Policy::Exact => format!("{with} alone"),
                };
                (
                    format!(
                        "loaded cuDNN {name} {relation} the {with} that this program was built with"
                    ),
                    format!("{with}, so {range} may be loaded"),
                )
            }
        };
        let mut finding = Finding::error(FindingId::CudnnVersionMismatch, headline);
        finding.evidence = loaded;
        finding.with("built with", allowed)
    }

    /// Returns the cuDNN to install: "cuDNN 9.28 or a later 9.x".
    pub fn required_cudnn(&self) -> String {
        match &self.accepted {
            AcceptedReleases::Requirement(text) => format!("a cuDNN that meets `{text}`"),
            AcceptedReleases::BuiltWith(with, policy) => match policy {
                Policy::Compatible | Policy::Requirement => format!("cuDNN {}", or_later(*with)),
                Policy::SameMinor => format!("cuDNN {}", with.short()),
                Policy::Exact => format!("cuDNN {with}"),
            },
        }
    }
}

fn or_later(with: Version) -> String {
    format!("{} or a later {}.x", with.short(), with.major)
}

impl CudaMajorMismatch {
    /// Returns the warning about the loaded cuDNN.
    pub fn finding(&self) -> Finding {
        let Self { loaded, built_with } = self;
        let headline = format!(
            "loaded cuDNN is for CUDA {loaded}, and this program was built with one for CUDA {built_with}"
        );
        Finding::warning(FindingId::CudaFlavourMismatch, headline)
            .help(format!("install the cuDNN for CUDA {built_with}"))
    }
}

impl KnownBadRelease<'_> {
    /// Returns the finding, an error only if the program uses the operation.
    pub fn finding(&self) -> Finding {
        let (severity, used) = match self.impact {
            Impact::Used => (Severity::Error, ", which this program uses"),
            Impact::General => (Severity::Warning, ""),
            Impact::Possible => (Severity::Note, ""),
        };
        let headline = format!("cuDNN {} is known to {}{used}", self.cudnn, self.row.what);
        Finding::new(FindingId::KnownBadRelease, severity, headline)
            .help(format!("install cuDNN {} or a later one", self.row.good))
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
            "{product} {found} is newer than {known}, the newest that this cudnn-guard knows, and is judged as that is"
        );
        Finding::note(FindingId::UnknownNewerVersion, headline)
            .help("update cudnn-guard, if something does not work that should")
    }
}
