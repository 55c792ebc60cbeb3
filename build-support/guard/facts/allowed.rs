//! The findings that somebody lets pass.

use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;

/// The label under which a finding that may pass says who let it.
const LET_PASS: &str = "let pass";

/// Who let a finding pass, if somebody did.
pub fn let_pass(finding: &Finding) -> Option<&str> {
    let mut evidence = finding.evidence.iter();
    Some(&evidence.find(|one| one.0 == LET_PASS)?.1)
}

/// The ids of findings that may pass, each with who lets it. A build, a start and `cudnn-guard inspect` read and apply
/// them here.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    ids: Vec<(String, &'static str)>,
}

impl Allowed {
    /// Reads the value of `CUDNN_GUARD_ALLOW`: ids with commas or white space between them.
    pub fn parse(list: &str) -> Self {
        let mut ids = Vec::new();
        let gap: fn(char) -> bool = |c| c == ',' || c.is_whitespace();
        for id in list.split(gap) {
            if !id.is_empty() {
                ids.push((id.to_string(), "by CUDNN_GUARD_ALLOW"));
            }
        }
        Self { ids }
    }

    /// With one more id, which the build script names.
    pub fn with(mut self, id: &str) -> Self {
        self.ids
            .push((id.to_string(), "by `.allow(..)` in build.rs"));
        self
    }

    /// Those that are ids of no finding.
    pub fn unknown_ids(&self) -> Vec<&str> {
        let mut unknown = Vec::new();
        for (id, _) in &self.ids {
            if FindingId::parse(id).is_none() {
                unknown.push(id.as_str());
            }
        }
        unknown
    }

    /// Whether the finding of this id may pass.
    pub fn contains(&self, id: &str) -> bool {
        self.allowed_by(id).is_some()
    }

    /// Makes warnings of the errors that may pass, each with who let it.
    pub fn apply(&self, findings: &mut [Finding]) {
        for finding in findings {
            if let (Some(by), Severity::Error) =
                (self.allowed_by(finding.id.as_str()), finding.severity)
            {
                finding.override_severity(Severity::Warning, LET_PASS, by);
            }
        }
    }

    /// Who lets it pass. A build script that contradicts itself cannot be followed: that never passes.
    fn allowed_by(&self, id: &str) -> Option<&'static str> {
        if id == FindingId::ConfigInvalid.as_str() {
            return None;
        }
        let known = self.ids.iter().find(|known| known.0 == id)?;
        Some(known.1)
    }
}
