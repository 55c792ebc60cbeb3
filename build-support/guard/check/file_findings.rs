//! The findings about cuDNN's files: those that the loader would select, and unexpected ones that were loaded.

use crate::runtime::check::LocatedCudnn;
use crate::runtime::facts::FindingId;
use crate::runtime::install::sub_library_files::{ProcessFiles, SubLibraries};
use crate::runtime::install::{FileReader, Installed, SubLibraryFile, mixed_sub_libraries};
use crate::runtime::judge::program_rules;
use crate::runtime::loader::{LoadOrigin, file_name};
use crate::runtime::report::Contents;
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

/// Adds the version, the sub-libraries and the findings about them to a report.
pub fn add(report: &mut Contents, cudnn: &LocatedCudnn<'_>, parts: SubLibraries) {
    let (built, main_library) = (cudnn.built, &cudnn.main_library);
    report.set_loaded(main_library, &parts);
    let release = report.cudnn_version();
    let mismatch = main_library.mismatch(built, release, &parts.lasting);
    let is_mixed = parts.is_mixed();
    // The origin of the sub-libraries matters only if the main library is compatible.
    let is_irrelevant = mismatch.is_some() && !parts.installed.is_together();
    // Mixed sub-libraries may include the required version.
    let has_required = parts.installed.list.iter().any(|part| {
        let version = part.version;
        version.is_some_and(|version| program_rules::version(built, version).is_ok())
    });
    let is_mismatch = mismatch.is_some();
    let mut mismatch = mismatch.filter(|_| !is_mixed || is_irrelevant || !has_required);
    if !is_mixed || is_irrelevant {
        report.findings.extend(mismatch.take());
    }
    for finding in parts.findings {
        if is_irrelevant && finding.id == FindingId::PartsMixed {
            continue;
        }
        // The help is to complete this version, which would still be the wrong one.
        let is_wrong = is_mismatch && finding.id == FindingId::PartsMissing;
        let mut finding = finding.with_first(main_library.evidence());
        if is_wrong {
            finding.help.clear();
        }
        report.findings.push(finding);
    }
    report.findings.extend(mismatch);
}

/// Adds the findings about sub-libraries that were mapped from other files than the checked ones. If cuDNN reports a
/// disagreement (`disagree`), sub-libraries without a version count as foreign too. Returns `true` if there are foreign
/// ones.
pub fn add_foreign(
    report: &mut Contents,
    cudnn: &LocatedCudnn<'_>,
    parts: &SubLibraries,
    mapped: &[PathBuf],
    disagree: bool,
) -> bool {
    let main_library = &cudnn.main_library;
    if main_library.origin == LoadOrigin::Within {
        // Sub-libraries of another cuDNN belong to that cuDNN, which already has a finding.
        return false;
    }
    let release = report.cudnn_version();
    let build_ids = report.built.tables.build_ids.clone();
    let files = ProcessFiles::new(&build_ids);
    let mut open = |name: &str, path: &Path| files.open(name, path);
    let mut reader = FileReader::new(&mut open);
    let (mut foreign, mut copies) = (Vec::new(), Vec::new());
    for path in mapped {
        let Some((name, Some(major))) = file_name::parse(path) else {
            continue;
        };
        // A deleted file can only be compared by name.
        let is_same =
            |part: &SubLibraryFile| part.path == *path || platform::same_file(&part.path, path);
        let is_checked = parts.installed.list.iter().any(is_same);
        if major != main_library.major || name.is_empty() || is_checked {
            continue;
        }
        let own_shim = mapped.iter().any(|other| {
            other.parent() == path.parent()
                && *other != main_library.path
                && file_name::parse(other) == Some((String::new(), Some(major)))
        });
        let part = reader.read(&name, path.clone());
        let is_compatible = !disagree && (part.version.is_none() || part.version == release);
        if own_shim || is_compatible {
            copies.push(path.clone());
        } else {
            foreign.push(part);
        }
    }
    // The child may have loaded more than this process.
    let here = platform::mapped();
    copies.retain(|copy| here.contains(copy));
    if !copies.is_empty() {
        let finding = main_library.others_finding(&copies);
        report.findings.push(finding);
    }
    if foreign.is_empty() {
        return false;
    }
    let mut installed = Installed {
        list: foreign,
        ..parts.installed.clone()
    };
    let origin = |file: &Path| cudnn.search_path.origin_of(file);
    installed.add_origins(&main_library.origin, &origin);
    let elsewhere = mixed_sub_libraries::foreign(&installed, Some(&cudnn.search_path));
    let finding = installed.foreign_finding(release, &elsewhere, None);
    let also = installed.list.iter().map(|part| part.path.display());
    let finding = finding.with_lines("also", also);
    report
        .findings
        .push(finding.with_first(main_library.evidence()));
    true
}
