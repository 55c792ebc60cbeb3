//! Sub-libraries that were loaded from unexpected files.

use crate::runtime::check::LocatedCudnn;
use crate::runtime::install::file_reader::FileReader;
use crate::runtime::install::installed::Installed;
use crate::runtime::install::mixed_sub_libraries;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::install::sub_library_files::{ProcessFiles, SubLibraries};
use crate::runtime::loader::file_name;
use crate::runtime::loader::search_path::LoadOrigin;
use crate::runtime::report::result::Contents;
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

/// Adds the findings about sub-libraries that were mapped from other files than the checked ones. If cuDNN reports a
/// disagreement (`disagree`), sub-libraries without a version count as foreign too. Returns `true` if there are foreign
/// ones.
pub fn judge(
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
