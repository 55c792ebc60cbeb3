//! A cudarc that does not accept the CUDA or the cuDNN of this machine.

use crate::compat::cudarc::number;
use crate::compat::cudarc_refusals::{ANY, CudarcRefusal, DETECT};
use crate::compat::cudarc_sources::{CHOICE, CUDA, LockedCudarc, feature};
use crate::runtime::facts::{Finding, FindingId, quoted};
use crate::runtime::loader::library_names::FIRST_CUDARC_WITH_9;

impl CudarcRefusal {
    pub fn finding(&self, cudarc: &LockedCudarc) -> Finding {
        let release = &cudarc.release;
        let newer =
            "require a newer cudarc, or a newer version of the crate that requires it".to_string();
        let mut helps = Vec::new();
        let finding = match self {
            Self::Unlisted {
                prefix,
                version,
                listed,
                choice,
                has_any,
            } => {
                let (name, source, id) = match *prefix {
                    CUDA => ("CUDA", "toolkit", FindingId::UnknownNewerVersion),
                    _ => ("cuDNN", "headers", FindingId::CudnnRequirementUnmet),
                };
                if let Some(choice) = choice {
                    let feature = feature(prefix, *choice);
                    let variable = format!("set {CHOICE}={} for the build", number(*choice));
                    let is_read = *prefix == CUDA && cudarc.reads_variable();
                    helps.extend(is_read.then_some(variable));
                    helps.push(match *prefix {
                        CUDA => format!("enable the feature `{feature}` of cudarc {release} in Cargo.toml"),
                        // The feature that detects the version has precedence.
                        _ => format!(
                            "replace the feature `{prefix}{DETECT}` of cudarc with `{feature}` in Cargo.toml"
                        ),
                    });
                }
                let any = format!("enable the feature `{ANY}` of cudarc {release}");
                helps.extend(has_any.then_some(any));
                helps.push(newer);
                let headline = format!(
                    "cudarc {release} has no bindings for {name} {}, the version of the installed {source}",
                    version.short()
                );
                let listed: Vec<_> = listed.iter().map(|one| one.short()).collect();
                Finding::warning(id, headline)
                    .with("bindings", format!("for {name} {}", listed.join(", ")))
            }
            Self::Unopened {
                library,
                names,
                other_cuda,
                choice,
            } => {
                let name = library.file_name().unwrap_or_default().to_string_lossy();
                if let Some((choice_of, built_for)) = other_cuda {
                    helps.extend(choice.map(|choice| {
                        let (old, new) = (number(*built_for), number(choice));
                        format!("replace `{choice_of}{old}` with `{choice_of}{new}` for cudarc {release}")
                    }));
                    helps.push(newer);
                } else {
                    let link = library.with_file_name(names.first().map_or("", String::as_str));
                    let link = quoted(&link.to_string_lossy());
                    let link = format!("run `ln -s {} {link}`", quoted(&name));
                    helps.extend(cfg!(unix).then_some(link));
                    let is_newer = name.ends_with(".so.9") || name.ends_with(".so.12");
                    let opens = FIRST_CUDARC_WITH_9;
                    let update = format!("require cudarc {opens} or later, which opens `{name}`");
                    helps.extend(is_newer.then_some(update));
                }
                let id = match name.contains("cudnn") {
                    true => FindingId::CudnnNotLoadable,
                    false => FindingId::LibraryNotFound,
                };
                id.warning(format!(
                    "cudarc {release} does not open `{name}`, and the library has no other name in its directory"
                ))
                .with("opened", names.join(", "))
                .with("library", library.display())
            }
        };
        let resolved = &cudarc.resolved;
        let condition = resolved.option.map(|one| format!("a build with `{one}`"));
        let finding = finding
            .with_some("condition", condition)
            .with_lines("needed by", &resolved.required_by)
            .with("sources", cudarc.sources.display());
        finding.helps(helps)
    }
}
