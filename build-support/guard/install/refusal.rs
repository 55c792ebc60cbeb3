//! A part that the loader refuses, though it lies where it is looked for.

use crate::runtime::binary::Image;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::install::sub_library_files;
use crate::runtime::loader::{loader_words, map_failures};
use std::path::Path;

/// The loader's words for it, as a finding; they begin with the file that it did not find.
pub fn finding(path: &Path, words: &str) -> Finding {
    let named = words.split(": ").next().unwrap_or(words);
    if let Some(finding) = map_failures::finding(words, &|_| None) {
        return finding;
    }
    let file = Path::new(named);
    let file = if file.is_absolute() { file } else { path };
    let defect = Image::open(file).err();
    // One that is not there tells nothing.
    if let Some(defect) = defect.filter(|defect| !matches!(defect, Defect::Unreadable(_))) {
        let mut finding =
            sub_library_files::defect_finding(file, &defect, true).with("loader", words);
        finding.severity = Severity::Error;
        return finding;
    }
    loader_words::finding(path, words)
}
