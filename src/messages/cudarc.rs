//! A cudarc that does not accept the toolkit or the cuDNN.

use crate::compat::cudarc_cudnn::{self, ANY, BY_HEADER, CudarcCudnn, Refusal};
use crate::compat::cudarc_sources::{BY_NVCC, CHOICE, OldCudarc, feature, number};
use crate::messages::phrases::with_alternatives;
use crate::runtime::facts::finding::{Finding, quoted};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::loader::library_names::FIRST_CUDARC_WITH_9;

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

impl CudarcCudnn {
    pub fn finding(&self) -> Finding {
        let release = &self.release;
        let (finding, helps) = match &self.refusal {
            Refusal::Unlisted {
                headers,
                listed,
                has_any,
            } => {
                let headline = format!(
                    "cudarc {release} has no bindings for cuDNN {}, the version of the headers here",
                    headers.short()
                );
                let versions: Vec<_> = listed.iter().map(|one| one.short()).collect();
                let mut helps = Vec::new();
                // Functions that the cuDNN here does not have must not be called.
                let below = listed.iter().rfind(|one| *one < headers);
                if let Some(version) = below {
                    let feature = cudarc_cudnn::feature(*version);
                    helps.push(format!(
                        "replace the feature `{BY_HEADER}` of cudarc with `{feature}` in Cargo.toml"
                    ));
                }
                if *has_any {
                    helps.push(format!("enable the feature `{ANY}` of cudarc {release}"));
                }
                let finding = Finding::warning(FindingId::CudnnRequirementUnmet, headline)
                    .with("bindings", format!("for cuDNN {}", versions.join(", ")));
                (finding, helps)
            }
            Refusal::Unopened { library, first } => {
                let name = library.file_name().unwrap_or_default().to_string_lossy();
                let headline = format!(
                    "cudarc {release} does not open `{name}`, the only name of cuDNN in its directory"
                );
                let dir = library.parent().unwrap_or(library);
                let link = quoted(&dir.join(first).to_string_lossy());
                let link = format!("run `ln -s {} {link}`", quoted(&name));
                let mut helps = Vec::from_iter(cfg!(unix).then_some(link));
                if name.ends_with(".9") {
                    let opens = FIRST_CUDARC_WITH_9;
                    helps.push(format!(
                        "require cudarc {opens} or later, which opens `{name}`"
                    ));
                }
                let finding = Finding::warning(FindingId::CudnnNotLoadable, headline)
                    .with("opened", first)
                    .with("library", library.display());
                (finding, helps)
            }
        };
        let finding = finding
            .with_lines("required by", &self.required_by)
            .with("sources", self.sources.display());
        with_alternatives(finding, helps)
    }
}
