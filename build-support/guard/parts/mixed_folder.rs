//! Sub-libraries of different releases in one folder, which the build and the program look for alike.

use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;
use std::path::Path;

/// That these files of one directory are of different releases. `all` is what those of a cuDNN are called.
pub fn in_one_folder(
    files: &[(Version, &Path)],
    dir: &str,
    release: Version,
    all: &str,
) -> Finding {
    // Those of another release than most; where that is undecided, than the first library.
    let (mut most, mut odd) = (release, odd_ones(files, release));
    for (version, _) in files {
        let others = odd_ones(files, *version);
        if others.len() < odd.len() {
            (most, odd) = (*version, others);
        }
    }
    let other = odd.first().map_or(most, |file| file.0);
    let named = odd.into_iter().filter(|(version, _)| *version == other);
    let named: Vec<&Path> = named.map(|(_, path)| path).collect();
    let summary = format!(
        "cuDNN {} at `{}` is mixed with {} of {}",
        most,
        dir,
        names(&named),
        other
    );
    Finding::error(FindingId::PartsMixed, summary).help(format!(
        "remove all `{all}` files from `{dir}` and install one cuDNN there, whole"
    ))
}

fn odd_ones<'a>(files: &[(Version, &'a Path)], release: Version) -> Vec<(Version, &'a Path)> {
    let odd = files.iter().filter(|(version, _)| *version != release);
    odd.copied().collect()
}

/// Up to three file names, or how many there are.
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
