//! Sub-libraries of different versions: the rules and sentences that the build and the program share.

use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use std::path::Path;

/// Returns the finding for files of one directory that are of different versions. `all` is the pattern of a cuDNN's
/// file names.
pub fn in_one_folder(files: &[&SubLibraryFile], dir: &str, version: Version, all: &str) -> Finding {
    // Those of another version than most; if that is undecided, than the main library.
    let (mut most, mut odd) = (version, odd_ones(files, version));
    for file in files {
        let Some(version) = file.version else {
            continue;
        };
        let others = odd_ones(files, version);
        if others.len() < odd.len() {
            (most, odd) = (version, others);
        }
    }
    let other = odd.first().and_then(|file| file.version).unwrap_or(most);
    let named = odd.iter().filter(|file| file.version == Some(other));
    let named: Vec<&Path> = named.map(|file| file.path.as_path()).collect();
    let summary = format!(
        "cuDNN {} at `{}` is mixed with {} of {}",
        most,
        dir,
        names(&named),
        other
    );
    Finding::error(FindingId::PartsMixed, summary).help(replace_all(all, dir))
}

/// Returns the help that replaces all files of a cuDNN.
pub fn replace_all(all: &str, dir: &str) -> String {
    format!("remove all `{all}` files from `{dir}` and install one cuDNN there, whole")
}

/// Returns `true` if a convolution opens a file of another version.
pub fn matters(files: &[&SubLibraryFile], version: Version) -> bool {
    let mut files = files.iter();
    files.any(|file| file.needed && file.is_other_than(version))
}

/// Adds the version of each file to the finding, which is a warning unless it [`matters`].
pub fn with_files(mut finding: Finding, files: &[&SubLibraryFile], version: Version) -> Finding {
    let lines: Vec<String> = files.iter().filter_map(|file| file.line()).collect();
    finding = finding.with("parts", lines.join("\n"));
    if !matters(files, version) {
        finding.severity = Severity::Warning;
        finding.summary += ", which no convolution uses";
    }
    finding
}

fn odd_ones<'a>(files: &[&'a SubLibraryFile], version: Version) -> Vec<&'a SubLibraryFile> {
    let odd = files.iter().filter(|file| file.is_other_than(version));
    odd.copied().collect()
}

/// Returns up to three file names, or how many there are.
pub fn names(files: &[&Path]) -> String {
    if files.len() > 3 {
        return format!("{} libraries", files.len());
    }
    let mut names = String::new();
    for (number, file) in files.iter().enumerate() {
        names += match files.len() - number {
            _ if number == 0 => "",
            1 => " and ",
            _ => ", ",
        };
        names += &file.file_name().unwrap_or_default().to_string_lossy();
    }
    names
}
