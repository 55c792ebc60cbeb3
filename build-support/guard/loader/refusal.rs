//! A library that the loader refuses, though it lies where it is looked for.

use crate::runtime::binary::Image;
use crate::runtime::binary::defect::Defect;
use crate::runtime::child::work;
use crate::runtime::driver::driver_missing::LIBRARY;
use crate::runtime::facts::finding::{Finding, Severity};
#[cfg(not(windows))]
use crate::runtime::loader::dlerror_messages as system_words;
#[cfg(windows)]
use crate::runtime::loader::dll_imports as system_words;
use crate::runtime::loader::map_failures;
use crate::runtime::parts::part_files;
use crate::runtime::report::result::Report;
use std::path::Path;

/// A part that the loader refuses, in the loader's words; they begin with the file that it did not find.
pub fn refused(report: &mut Report, path: &Path, words: &str) {
    if work::wants_driver(path, words) {
        // Without a driver nothing is wrong with this cuDNN.
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let line = format!("{}: it is linked to {}", file, LIBRARY);
        if !report.unchecked.contains(&line) {
            report.unchecked.push(line);
        }
        return;
    }
    let finding = refusal(path, words);
    // That it cannot be read was a guess before, and now the loader says so too.
    let same = |known: &Finding| known.summary == finding.summary;
    report.findings.retain(|known| !same(known));
    match finding.severity {
        Severity::Error => report.findings.push(finding),
        _ => report.unknown(finding),
    }
}

/// The loader's words for a part that it refuses, as a finding.
pub fn refusal(path: &Path, words: &str) -> Finding {
    let named = words.split(": ").next().unwrap_or(words);
    if let Some(finding) = map_failures::finding(words, &|_| None) {
        return finding;
    }
    let file = Path::new(named);
    let file = if file.is_absolute() { file } else { path };
    let defect = Image::open(file).err();
    // One that is not there tells nothing.
    if let Some(defect) = defect.filter(|defect| !matches!(defect, Defect::Unreadable(_))) {
        let mut finding = part_files::defect_finding(file, &defect, true).with("loader", words);
        finding.severity = Severity::Error;
        return finding;
    }
    system_words::finding(path, words)
}
