//! Headers that lie before others of the same name on a compiler's way.

use crate::system::files;
use crate::system::freshness::stat_cache::{File, StatCache};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The files that lie in an earlier directory of `search` under the name by which one of `read` was found in a later one,
/// and that were not read. A header that is new among them hides the one that was read. Some were there all the time,
/// behind an `#include_next` or quotes, so only a change tells something.
pub fn shadowing_headers(search: &[PathBuf], read: &[Rc<File>], seen: &StatCache) -> Vec<PathBuf> {
    let search: Vec<PathBuf> = search.iter().filter_map(|dir| seen.dir(dir)).collect();
    // By which name each was included, as far as that can be seen, and how far down the way it was found.
    let mut names: Vec<(usize, &Path)> = Vec::new();
    for (place, dir) in search.iter().enumerate().skip(1) {
        let start = dir.as_os_str().as_encoded_bytes();
        for file in read {
            // The parts of a path are slow to compare, and most lie elsewhere.
            let bytes = file.real.as_os_str().as_encoded_bytes();
            if !bytes.starts_with(start) {
                continue;
            }
            if let Ok(name) = file.real.strip_prefix(dir) {
                names.push((place, name));
            }
        }
    }
    let mut found = Vec::new();
    for (place, dir) in search.iter().enumerate() {
        let later = || names.iter().filter(|(found, _)| *found > place);
        if later().next().is_none() {
            continue;
        }
        let listed = seen.names(dir);
        let there = later().filter(|(_, name)| {
            let first = name.components().next();
            first.is_some_and(|first| {
                let name = |name: &OsString| name.as_os_str().cmp(first.as_os_str());
                listed.binary_search_by(name).is_ok()
            })
        });
        let paths = there.map(|(_, name)| dir.join(name));
        found
            .extend(paths.filter(|path| {
                files::is_file(path) && !read.iter().any(|file| file.real == *path)
            }));
    }
    found.sort();
    found.dedup();
    found
}
