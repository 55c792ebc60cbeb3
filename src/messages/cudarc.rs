//! A cudarc that does not accept the CUDA or the cuDNN of this machine.

use crate::compat::cudarc::number;
use crate::compat::cudarc_refusals::{ANY, BY_HEADER, CHOICE, Choice, Refusal};
use crate::compat::cudarc_sources::LockedCudarc;
use crate::messages::phrases::with_alternatives;
use crate::runtime::facts::finding::{Finding, quoted};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::loader::library_names::FIRST_CUDARC_WITH_9;

impl Refusal {
    pub fn finding(&self, cudarc: &LockedCudarc) -> Finding {
        let release = &cudarc.release;
        let any = format!("enable the feature `{ANY}` of cudarc {release}");
        let newer = || "require a newer cudarc, or a newer version of what requires it".to_string();
        let mut helps = Vec::new();
        let finding = match self {
            Self::Cuda {
                toolkit,
                newest,
                choice,
                update,
                has_any,
            } => {
                helps.extend(choice.helps(release));
                helps.extend(has_any.then_some(any));
                let update =
                    update.map(|one| format!("require cudarc {one}, which supports this CUDA"));
                helps.push(update.unwrap_or_else(newer));
                let headline = format!(
                    "cudarc {release} supports CUDA up to {}, and the toolkit here is CUDA {}",
                    newest.short(),
                    toolkit.short()
                );
                Finding::warning(FindingId::UnknownNewerVersion, headline)
            }
            Self::Cudnn {
                headers,
                listed,
                has_any,
            } => {
                // Functions that the cuDNN here does not have must not be called.
                if let Some(below) = listed.iter().rfind(|one| *one < headers) {
                    helps.push(format!(
                        "replace the feature `{BY_HEADER}` of cudarc with `cudnn-{:02}{:03}` in Cargo.toml",
                        below.major, below.minor
                    ));
                }
                helps.extend(has_any.then_some(any));
                let headline = format!(
                    "cudarc {release} has no bindings for cuDNN {}, the version of the headers here",
                    headers.short()
                );
                let versions: Vec<_> = listed.iter().map(|one| one.short()).collect();
                Finding::warning(FindingId::CudnnRequirementUnmet, headline)
                    .with("bindings", format!("for cuDNN {}", versions.join(", ")))
            }
            Self::Unopened {
                library,
                names,
                other_cuda,
            } => {
                let name = library.file_name().unwrap_or_default().to_string_lossy();
                match (other_cuda, names.first()) {
                    (Some(choice), _) => {
                        helps.extend(choice.helps(release));
                        helps.push(newer());
                    }
                    (None, Some(first)) if cfg!(unix) => {
                        let link = quoted(&library.with_file_name(first).to_string_lossy());
                        helps.push(format!("run `ln -s {} {link}`", quoted(&name)));
                    }
                    _ => {}
                }
                if name == "libcudnn.so.9" {
                    helps.push(format!(
                        "require cudarc {FIRST_CUDARC_WITH_9} or later, which opens `{name}`"
                    ));
                }
                let id = match name.contains("cudnn") {
                    true => FindingId::CudnnNotLoadable,
                    false => FindingId::LibraryNotFound,
                };
                let headline = format!(
                    "cudarc {release} does not open `{name}`, the only name of this library in its directory"
                );
                Finding::warning(id, headline)
                    .with("opened", names.join(", "))
                    .with("library", library.display())
            }
        };
        let resolved = &cudarc.resolved;
        let option = Some(resolved.option).filter(|option| !option.is_empty());
        let finding = finding
            .with_lines(
                "condition",
                option.map(|option| format!("a build with `{option}`")),
            )
            .with_lines("required by", &resolved.required_by)
            .with("sources", cudarc.sources.display());
        with_alternatives(finding, helps)
    }
}

impl Choice {
    fn helps(&self, release: &str) -> Vec<String> {
        let Some(number) = self.cuda.map(number) else {
            return Vec::new();
        };
        let variable = format!("set {CHOICE}={number} for the build");
        let feature =
            format!("enable the feature `cuda-{number}` of cudarc {release} in Cargo.toml");
        let mut helps = vec![variable, feature];
        helps.retain(|help| self.has_variable || !help.contains(CHOICE));
        helps
    }
}
