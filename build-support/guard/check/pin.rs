//! Opens the checked files by their paths, so that cuDNN uses them instead of those that the loader would select.

use crate::runtime::check::LocatedCudnn;
use crate::runtime::facts::FindingId;
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::install::{MainLibrary, SubLibraryFile};
use crate::runtime::report::Contents;
use crate::runtime::system::{Library, path_cache, platform};
use std::path::Path;

/// Opens the files that worked in the child, and checks them again, since files can change.
pub fn pin(report: &mut Contents, cudnn: &LocatedCudnn<'_>, parts: &SubLibraries) {
    for part in parts.installed.list.iter().filter(|part| part.needed) {
        if let Err(message) = Library::open_file(&part.path) {
            report.refused(&part.path, &message, None);
        }
    }
    path_cache::forget();
    let again = cudnn.parts(true);
    let needed = |part: &&SubLibraryFile| part.needed;
    let mut now = again.installed.list.iter().filter(needed);
    // A mapped file may have been deleted in the meantime, and still works.
    let is_other = |one: &Path, other: &Path| one != other && !platform::same_file(one, other);
    for before in parts.installed.list.iter().filter(needed) {
        let Some(after) = now.next() else {
            return;
        };
        let is_changed = before.version.is_some_and(|one| after.is_other_than(one));
        if is_changed || is_other(&before.path, &after.path) {
            report.findings.push(before.changed_finding(&after.path));
            return;
        }
    }
}

/// Adds the findings about sub-libraries that the loader would select instead of the tested ones, if they have another
/// version or cannot be loaded. If the tested ones are pinned, the findings do not affect this program.
pub fn diverted(
    report: &mut Contents,
    main_library: &MainLibrary,
    tried: &SubLibraries,
    by_name: SubLibraries,
    pinned: bool,
) {
    if !pinned && !by_name.not_found.is_empty() {
        // The program may still open them, or change what Windows searches.
        report.unknown = Some(FindingId::PartsMissing);
        report.findings.push(by_name.not_found_finding());
    }
    if tried.is_mixed() {
        return;
    }
    for finding in by_name.findings.clone() {
        // A sub-library that the loader does not find may still be opened by the program.
        if finding.id == FindingId::PartsMissing || tried.findings.contains(&finding) {
            continue;
        }
        let finding = finding.with_first(main_library.evidence());
        let finding = if pinned {
            finding.but_for_this_guard()
        } else {
            report.set_loaded(main_library, &by_name);
            finding
        };
        report.findings.push(finding);
    }
}
