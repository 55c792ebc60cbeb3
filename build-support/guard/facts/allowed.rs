//! The findings that an operator or a build script allows.

use crate::runtime::facts::{Finding, FindingId, Severity};

/// The label of the evidence that names what allows a finding.
const LABEL: &str = "allowed";

/// Returns what allows a finding, if it is allowed.
pub fn allowed_by(finding: &Finding) -> Option<&str> {
    let mut evidence = finding.evidence.iter();
    Some(&evidence.find(|one| one.0 == LABEL)?.1)
}

/// The ids of allowed findings, each with what allows it. Builds, programs and `cudnn-guard inspect` use this type.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    ids: Vec<(String, &'static str)>,
}

impl Allowed {
    /// Reads the value of `CUDNN_GUARD_ALLOW`: ids with commas or white space between them.
    pub fn parse(list: &str) -> Self {
        let mut ids = Vec::new();
        for id in list.replace(',', " ").split_whitespace() {
            ids.push((id.to_string(), "by CUDNN_GUARD_ALLOW"));
        }
        Self { ids }
    }

    /// Adds an id from the build script.
    pub fn with(mut self, id: &str) -> Self {
        self.ids
            .push((id.to_string(), "by `.allow(..)` in build.rs"));
        self
    }

    pub fn unknown_ids(&self) -> Vec<&str> {
        let ids = self.ids.iter().map(|(id, _)| id.as_str());
        ids.filter(|id| FindingId::parse(id).is_none()).collect()
    }

    pub fn contains(&self, id: FindingId) -> bool {
        self.allowed_by(id).is_some()
    }

    /// Turns allowed errors into warnings, with what allows them as evidence.
    pub fn apply(&self, findings: &mut [Finding]) {
        for finding in findings {
            if let (Some(by), Severity::Error) = (self.allowed_by(finding.id), finding.severity) {
                finding.override_severity(Severity::Warning, LABEL, by);
            }
        }
    }

    /// Returns what allows an id. A contradictory build script cannot be followed, so `config-invalid` is never
    /// allowed.
    fn allowed_by(&self, id: FindingId) -> Option<&'static str> {
        if id == FindingId::ConfigInvalid {
            return None;
        }
        let known = self.ids.iter().find(|known| known.0 == id.as_str())?;
        Some(known.1)
    }
}
