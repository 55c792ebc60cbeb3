//! A file that the loader refuses, or will refuse, though it is where it is searched for.

use crate::runtime::binary::Image;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::install::package_owner;
use crate::runtime::loader::{loader_words, map_failures};
use std::path::Path;

/// Returns the finding for the loader's message about a file. The message begins with the file that it did not find.
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
        let mut finding = defect_finding(file, &defect, true).with("loader", words);
        finding.severity = Severity::Error;
        return finding;
    }
    loader_words::finding(path, words)
}

/// Returns the finding for a file that this process cannot load.
pub fn defect_finding(path: &Path, defect: &Defect, needed: bool) -> Finding {
    let id = defect.id();
    let summary = format!("`{}` {}", path.display(), defect);
    let finding = match (needed, defect) {
        // What cannot be read may still be mapped by the loader: nothing is known.
        (true, Defect::Unreadable(_) | Defect::Forbidden) | (false, _) => {
            Finding::warning(id, summary)
        }
        (true, _) => Finding::error(id, summary),
    };
    let again = match defect {
        Defect::Empty | Defect::Directory => None,
        _ if id != FindingId::LibraryDamaged || defect.is_lfs_pointer() => None,
        _ => path.parent().and_then(package_owner::reinstall_command),
    };
    finding.help(match again {
        Some(command) => format!("bring its file back: `{command}`"),
        None => defect.help(path),
    })
}
