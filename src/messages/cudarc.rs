//! A cudarc that does not know the toolkit.

use crate::compat::cudarc_sources::{BY_NVCC, CHOICE, OldCudarc, feature, number};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;

impl OldCudarc {
    pub fn finding(&self) -> Finding {
        let release = &self.release;
        let headline = format!(
            "cudarc {release} supports CUDA up to {}, and the toolkit here is CUDA {}",
            self.newest.short(),
            self.toolkit.short()
        );
        let mut finding = Finding::warning(FindingId::UnknownNewerVersion, headline);
        if let Some(cuda) = self.choice {
            if self.has_variable {
                let number = number(cuda);
                finding = finding.help(format!("set {CHOICE}={number} for the build"));
            }
            let feature = feature(cuda);
            finding = finding.help(format!(
                "enable the feature `{feature}` of cudarc {release} in Cargo.toml"
            ));
        }
        finding = finding.help(match self.update {
            Some(newer) => format!("update to cudarc {newer}, which supports this CUDA"),
            None => format!("update cudarc: `cargo update -p cudarc@{release}`"),
        });
        finding
            .with_lines("required", &self.required_by)
            .with("matters", format!("if `{BY_NVCC}` is enabled"))
            .with("read", self.sources.join("Cargo.toml").display())
    }
}
