//! A cudarc that does not know the toolkit.

use crate::compat::cudarc_sources::{BY_NVCC, CHOICE, OldCudarc, feature, number};
use crate::messages::phrases::with_alternatives;
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
        let mut helps = Vec::new();
        if let Some(cuda) = self.choice {
            if self.has_variable {
                helps.push(format!("set {CHOICE}={} for the build", number(cuda)));
            }
            let feature = feature(cuda);
            helps.push(format!(
                "enable the feature `{feature}` of cudarc {release} in Cargo.toml"
            ));
        }
        helps.push(match self.update {
            Some(newer) => format!("require cudarc {newer}, which supports this CUDA"),
            None => "require a newer cudarc, or a newer version of what requires it".into(),
        });
        let finding = Finding::warning(FindingId::UnknownNewerVersion, headline)
            .with_lines("required by", &self.required_by)
            .with("condition", format!("the feature `{BY_NVCC}` is enabled"))
            .with("sources", self.sources.display());
        with_alternatives(finding, helps)
    }
}
