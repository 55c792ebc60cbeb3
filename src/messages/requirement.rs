//! Requirements of the build script that are not met.

use crate::choice::requirement::InvalidRequirement;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;

impl InvalidRequirement {
    pub fn finding(&self) -> Finding {
        let Self { method, text, .. } = self;
        let headline = match &self.error {
            Some(_) => format!("`.{method}({text:?})` is not a version requirement"),
            None => format!("no release can meet `.{method}({text:?})`"),
        };
        let example = if *method == "cuda" {
            ">=12.0"
        } else {
            ">=9.1, <10"
        };
        Finding::error(FindingId::ConfigInvalid, headline)
            .help(format!(
                "write it in build.rs as in Cargo.toml, for example `.{method}(\"{example}\")`"
            ))
            .with_lines("reason", &self.error)
    }
}
