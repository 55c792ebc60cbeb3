//! The findings about cuDNN's files.

use crate::runtime::check::LocatedCudnn;
use crate::runtime::facts::FindingId;
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::judge::program_rules;
use crate::runtime::report::result::Contents;

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
        let finding = finding.with_first(main_library.evidence());
        report.findings.push(if is_wrong {
            finding.without_help()
        } else {
            finding
        });
    }
    report.findings.extend(mismatch);
}
