//! Headers that lie before others of the same name on a compiler's way.

use super::files;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The files that lie in an earlier directory of `search` under the name by which one of `read` was found in a later one,
/// and that were not read. A header that is new among them hides the one that was read. Some were there all the time,
/// behind an `#include_next` or quotes, so only a change tells something.
pub fn before(search: &[PathBuf], read: &[PathBuf]) -> Vec<PathBuf> {
    let real = |dir: &PathBuf| files::canonical(dir, None).ok();
    let search: Vec<PathBuf> = search.iter().filter_map(real).collect();
    // By which name each was included, as far as that can be seen, and how far down the way it was found.
    let mut names: Vec<(usize, &Path)> = Vec::new();
    for (place, dir) in search.iter().enumerate().skip(1) {
        let within = read.iter().filter_map(|path| path.strip_prefix(dir).ok());
        names.extend(within.map(|name| (place, name)));
    }
    let mut found = Vec::new();
    for (place, dir) in search.iter().enumerate() {
        let later = || names.iter().filter(|(found, _)| *found > place);
        if later().next().is_none() {
            continue;
        }
        let listed = files::list(dir).unwrap_or_default();
        let listed: HashSet<OsString> = listed
            .iter()
            .filter_map(|path| Some(path.file_name()?.to_os_string()))
            .collect();
        let there = later().filter(|(_, name)| {
            let first = name.components().next();
            first.is_some_and(|first| listed.contains(first.as_os_str()))
        });
        let paths = there.map(|(_, name)| dir.join(name));
        found.extend(paths.filter(|path| files::is_file(path) && !read.contains(path)));
    }
    found.sort();
    found.dedup();
    found
}
