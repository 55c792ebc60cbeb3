//! What the files of the cuDNN say of it.

use crate::runtime::facts::built::Built;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::install::main_library::MainLibrary;
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::judge::rules;
use crate::runtime::report::result::Report;

/// Adds to a report the release, the parts and what is wrong with them.
pub fn add(report: &mut Report, built: &Built, main_library: &MainLibrary, parts: SubLibraries) {
    report.set_loaded(main_library, &parts);
    let release = report.release();
    let mismatch = main_library.mismatch(built, release, &parts.lasting);
    let is_mixed = parts.is_mixed();
    // Where parts come from is asked once the first library itself is the right one.
    let of_others = mismatch.is_some() && !parts.is_together();
    // What is mixed here may hold the release that is wanted.
    let mut mismatch = mismatch.filter(|_| !is_mixed || of_others || !has_wanted(&parts, built));
    if !is_mixed || of_others {
        report.findings.extend(mismatch.take());
    }
    for mut finding in parts.findings {
        if of_others && finding.id == FindingId::PartsMixed {
            continue;
        }
        main_library.add_evidence(&mut finding);
        report.findings.push(finding);
    }
    report.findings.extend(mismatch);
}

/// Whether one of them is of a release that the program can run with.
fn has_wanted(parts: &SubLibraries, built: &Built) -> bool {
    for part in &parts.list {
        if part
            .version
            .is_some_and(|version| rules::version(built, version).is_ok())
        {
            return true;
        }
    }
    false
}
