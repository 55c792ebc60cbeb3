//! The configuration of `ldconfig`, which lists the directories whose libraries are in the loader's cache.

use crate::runtime::binary::bounded_file::{BoundedFile, files_in};
use crate::runtime::binary::defect::target;
use crate::runtime::loader::system::System;
use std::path::{Path, PathBuf};

/// Limits above the size of any configuration.
const MOST: u64 = 1 << 14;
const MOST_DIRECTORIES: usize = 1 << 10;

/// Returns the directories in the configuration of a system, each after the file that lists it, in the order of
/// `ldconfig`.
pub fn read(system: &System) -> Vec<(PathBuf, PathBuf)> {
    let (mut known, mut places) = (Vec::new(), Vec::new());
    let file = Path::new("/etc/ld.so.conf");
    read_file(file, system, &mut known, &mut places);
    places
}

/// Reads a configuration file and its includes, each once.
fn read_file(
    file: &Path,
    system: &System,
    known: &mut Vec<PathBuf>,
    places: &mut Vec<(PathBuf, PathBuf)>,
) {
    if known.iter().any(|known| known == file) {
        return;
    }
    known.push(file.to_path_buf());
    let real = target(&system.path(file), system.root.as_deref());
    let opened = real.and_then(|real| BoundedFile::open(&real).ok());
    let bytes = opened.and_then(|opened| opened.read(0, opened.length().min(MOST)));
    for line in String::from_utf8_lossy(&bytes.unwrap_or_default()).lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.starts_with('/') && places.len() < MOST_DIRECTORIES {
            places.push((file.to_path_buf(), system.path(Path::new(line))));
        }
        let mut words = line.split_whitespace();
        if words.next() != Some("include") {
            continue;
        }
        for pattern in words {
            let pattern = file.parent().unwrap_or(file).join(pattern);
            let (Some(dir), Some(name)) = (pattern.parent(), pattern.file_name()) else {
                continue;
            };
            let name = name.to_string_lossy();
            let mut names = Vec::new();
            for found in files_in(&system.path(dir)) {
                names.extend(found.file_name().map(PathBuf::from));
            }
            names.retain(|found| matches(&name, &found.to_string_lossy()));
            names.sort_unstable();
            for found in names {
                read_file(&dir.join(found), system, known, places);
            }
        }
    }
}

/// Returns `true` if a file name matches a pattern with `*`. Hidden files do not match.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(start) else {
        return false;
    };
    let is_hidden = start.is_empty() && name.starts_with('.');
    let mut pieces = rest.split('*');
    let last = pieces.next_back().unwrap_or_default();
    for piece in pieces {
        match name.split_once(piece) {
            Some((_, behind)) => name = behind,
            None => return false,
        }
    }
    !is_hidden && name.ends_with(last)
}
