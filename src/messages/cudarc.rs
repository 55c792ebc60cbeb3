//! A cudarc that does not accept the CUDA or the cuDNN of this machine.

use crate::compat::cudarc::number;
use crate::compat::cudarc_refusals::{ANY, CudarcRefusal, DETECT};
use crate::compat::cudarc_sources::{CHOICE, CUDA, LockedCudarc, feature};
use crate::model::Toolkit;
use crate::runtime::facts::{Finding, FindingId, Version, quoted};
use crate::runtime::loader::file_name::FIRST_CUDARC_WITH_9;
use crate::toolkit::package_names::fetch_home;
use std::path::Path;

/// The feature for loading at run time that cudarc ignores if another one is enabled.
const FALLBACK: &str = "fallback-dynamic-loading";

impl CudarcRefusal {
    pub fn finding(&self, cudarc: &LockedCudarc, toolkit: Option<&Toolkit>) -> Finding {
        let release = &cudarc.release;
        let home = toolkit.and_then(|toolkit| fetch_home(&toolkit.root));
        let fetch = |cuda: Version| {
            let (home, cuda) = (quoted(&home?.to_string_lossy()), cuda.short());
            Some(format!("run `cudnn-guard fetch --cuda {cuda} --to {home}`"))
        };
        let newer = "require a newer cudarc, or a newer version of the crate that requires it";
        let finding = match self {
            Self::Exclusive([(first, by), (second, other)]) => FindingId::ConfigInvalid
                .error(format!(
                    "the build of cudarc {release} fails: its features `{first}` and `{second}` exclude each other"
                ))
                .helps((first == "dynamic-loading" && cudarc.build_script.contains(FALLBACK)).then(|| {
                    format!("replace the feature `{first}` of cudarc with `{FALLBACK}`, which `{second}` overrides")
                }))
                .help(format!(
                    "enable only `{first}` or only `{second}` in Cargo.toml, with `default-features = false` for cudarc"
                ))
                .with("enabled", format!("`{first}` by {by}\n`{second}` by {other}")),
            Self::NoNvcc(nvcc, choice) => FindingId::NvccNotFound
                .error(format!(
                    "the build of cudarc {release} fails: its feature `{CUDA}{DETECT}` runs nvcc, which is not on PATH"
                ))
                .helps(nvcc.as_deref().and_then(Path::parent).map(|dir| format!("add `{}` to PATH", dir.display())))
                .helps(choice.map(|choice| {
                    let by_version = feature(CUDA, choice);
                    format!("replace the feature `{CUDA}{DETECT}` of cudarc with `{by_version}` in Cargo.toml")
                })),
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
                let listed: Vec<_> = listed.iter().map(|one| one.short()).collect();
                // The wheels of an older CUDA do not contain the nvcc that this feature runs.
                let fetched = choice.filter(|choice| *prefix == CUDA && choice.major >= 13);
                let variable = choice.filter(|_| *prefix == CUDA && cudarc.reads_variable());
                id.warning(format!(
                    "cudarc {release} has no bindings for {name} {}, the version of the installed {source}",
                    version.short()
                ))
                .with("bindings", format!("for {name} {}", listed.join(", ")))
                .helps(fetched.and_then(fetch))
                .helps(variable.map(|choice| format!("set {CHOICE}={} for the build", number(choice))))
                .helps(choice.map(|choice| match (*prefix, feature(prefix, choice)) {
                    (CUDA, feature) => format!("enable the feature `{feature}` of cudarc {release} in Cargo.toml"),
                    // The feature that detects the version has precedence.
                    (_, feature) => format!(
                        "replace the feature `{prefix}{DETECT}` of cudarc with `{feature}` in Cargo.toml"
                    ),
                }))
                .helps(has_any.then(|| format!("enable the feature `{ANY}` of cudarc {release}")))
                .help(newer)
            }
            Self::Unopened {
                library,
                names,
                other_cuda,
                choice,
            } => {
                let name = library.file_name().unwrap_or_default().to_string_lossy();
                let id = match name.contains("cudnn") {
                    true => FindingId::CudnnNotLoadable,
                    false => FindingId::LibraryNotFound,
                };
                let finding = id.warning(format!(
                    "cudarc {release} does not open `{name}`, and the library has no other name in its directory"
                ))
                .with("opened", names.join(", "))
                .with("library", library.display());
                if let Some((choice_of, built_for)) = other_cuda {
                    let old = number(*built_for);
                    let replaced = choice.map(|choice| {
                        let new = number(choice);
                        format!("replace `{choice_of}{old}` with `{choice_of}{new}` for cudarc {release}")
                    });
                    finding.helps(fetch(*built_for)).helps(replaced).help(newer)
                } else {
                    let link = library.with_file_name(names.first().map_or("", String::as_str));
                    let is_dll = name.ends_with(".dll");
                    let link = match is_dll {
                        true => format!("copy `{}` to `{}`", library.display(), link.display()),
                        false => {
                            let link = quoted(&link.to_string_lossy());
                            format!("run `ln -s {} {link}`", quoted(&name))
                        }
                    };
                    let is_newer = name.ends_with(".so.9") || name.ends_with(".so.12");
                    let opens = FIRST_CUDARC_WITH_9;
                    let update = format!("require cudarc {opens} or later, which opens `{name}`");
                    finding
                        .helps(is_dll.then(|| newer.to_string()))
                        .help(link)
                        .helps(is_newer.then_some(update))
                }
            }
        };
        let resolved = &cudarc.resolved;
        let condition = resolved.option.map(|one| format!("a build with `{one}`"));
        finding
            .with_some("condition", condition)
            .with_lines("needed by", &resolved.required_by)
            .with("sources", cudarc.sources.display())
    }
}
