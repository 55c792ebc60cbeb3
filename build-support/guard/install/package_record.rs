//! The records of wheels, which determine the version of an installed file.

use crate::runtime::binary::{BoundedFile, files_in};
use crate::runtime::facts::Version;
use std::path::{Path, PathBuf};

/// The number of directories that are searched upward. `<site-packages>/nvidia/cudnn/lib` is three below the record.
const MAX_LEVELS: usize = 5;
/// The most bytes of a record that are read. dpkg's list of all packages takes several megabytes.
const MOST: u64 = 1 << 24;

/// The version of a wheel, and the names and sizes of its files in a directory.
pub type WheelRecord = (Version, Vec<(String, u64)>);

/// Returns the records above this directory that list files of the directory, of wheels whose names start with `start`.
/// A record lists files, not links: the directory must be canonical.
pub fn records_above(dir: &Path, start: &str) -> Vec<WheelRecord> {
    let mut records = Vec::new();
    for top in dir.ancestors().skip(1).take(MAX_LEVELS) {
        let Some(below) = dir.strip_prefix(top).ok().and_then(slashed) else {
            continue;
        };
        for wheel in list_named(top, start, "-", ".dist-info") {
            let name = wheel.file_name().and_then(|name| name.to_str());
            if let Some(version) = name.and_then(|name| release_in(name, start)) {
                let text = read(&wheel.join("RECORD")).unwrap_or_default();
                let files = parse(&text, &below);
                if !files.is_empty() {
                    records.push((version, files));
                }
            }
        }
        if !records.is_empty() {
            break;
        }
    }
    records
}

/// Returns the version of a file, from the wheel whose record lists it with this size. A file from elsewhere is in no
/// record; if wheels of two versions overwrote each other, the version is unknown.
pub fn recorded_version(records: &[WheelRecord], name: &str, size: u64) -> Option<Version> {
    let mut found = None;
    for (version, files) in records {
        if !files.iter().any(|file| file.0 == name && file.1 == size) {
            continue;
        }
        if found.is_some_and(|other| other != *version) {
            return None;
        }
        found = Some(*version);
    }
    found
}

/// Returns 9.28.0 for `nvidia_cudnn_cu13-9.28.0.42.dist-info`, whose start is `nvidia_cudnn`.
pub fn release_in(name: &str, start: &str) -> Option<Version> {
    let name = name.strip_prefix(start)?;
    let (_, numbers) = name.strip_suffix(".dist-info")?.split_once('-')?;
    let mut numbers = numbers.split('.');
    let mut number = || numbers.next()?.parse().ok();
    Some(Version::new(number()?, number()?, number()?))
}

/// Returns the path and the size in a line of a record, `path,sha256=hash,size`. Some lines have no size.
/// <https://packaging.python.org/en/latest/specifications/recording-installed-packages/>
pub fn recorded_size(line: &str) -> Option<(&str, u64)> {
    let mut fields = line.split(',');
    let (path, size) = (fields.next()?, fields.nth(1)?.trim().parse().ok()?);
    // The path of a library contains no comma.
    fields.next().is_none().then_some((path, size))
}

/// Returns the names and sizes of the files that a record lists in this directory.
pub fn parse(text: &str, below: &str) -> Vec<(String, u64)> {
    let mut files = Vec::new();
    for (path, size) in text.lines().filter_map(recorded_size) {
        let name = path
            .strip_prefix(below)
            .and_then(|name| name.strip_prefix('/'));
        if let Some(name) = name.filter(|name| !name.contains('/')) {
            files.push((name.to_string(), size));
        }
    }
    files
}

/// Returns a path with slashes between the directories, as in a record on every system.
fn slashed(dir: &Path) -> Option<String> {
    let mut names = Vec::new();
    for name in dir {
        names.push(name.to_str()?);
    }
    Some(names.join("/"))
}

/// Returns the files in a directory whose names consist of `start`, a text that contains `inside`, and `end`, sorted. The
/// text becomes part of commands, so names with characters that no package has are left out.
pub fn list_named(dir: &Path, start: &str, inside: &str, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in files_in(dir) {
        let name = path.file_name().and_then(|name| name.to_str());
        let rest = name.and_then(|name| name.strip_prefix(start)?.strip_suffix(end));
        if rest.is_some_and(|rest| rest.contains(inside) && is_plain(rest)) {
            found.push(path);
        }
    }
    found
}

/// Returns `true` if the text has only characters of package names and versions, which a shell takes literally there.
pub fn is_plain(text: &str) -> bool {
    let is_known = |one: char| one.is_ascii_alphanumeric() || "-_.+:~".contains(one);
    text.chars().all(is_known)
}

pub fn read(path: &Path) -> Option<String> {
    let file = BoundedFile::open(path).ok()?;
    let bytes = file.read(0, file.length().min(MOST))?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
