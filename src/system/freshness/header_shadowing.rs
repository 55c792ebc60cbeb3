//! Headers that precede others of the same name in a compiler's search path.

use crate::model::target_list::add;
use crate::system::files;
use crate::system::freshness::stat_cache::{File, StatCache};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Returns the files that were not read, but that are in an earlier directory of `search` and have the same name as a
/// file in `read` from a later one. A new header among them shadows the one that was read. Some existed before, skipped
/// by `#include_next` or quotes, so only a change is significant.
pub fn shadowing_headers(search: &[PathBuf], read: &[Rc<File>], seen: &StatCache) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for dir in search {
        dirs.extend(seen.dir(dir));
    }
    // The name by which each file was probably included, and the position of its directory in the search path.
    let mut names: Vec<(usize, &Path)> = Vec::new();
    for (place, dir) in dirs.iter().enumerate().skip(1) {
        let start = dir.as_os_str().as_encoded_bytes();
        for file in read {
            // Path components are slow to compare, and most files are elsewhere.
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
    for (place, dir) in dirs.iter().enumerate() {
        if names.last().is_none_or(|(of, _)| *of <= place) {
            break;
        }
        let listed = seen.names(dir);
        for (of, name) in &names {
            if *of <= place {
                continue;
            }
            let Some(first) = name.iter().next() else {
                continue;
            };
            let order = |name: &OsString| name.as_os_str().cmp(first);
            if listed.binary_search_by(order).is_err() {
                continue;
            }
            let path = dir.join(name);
            if files::is_file(&path) && !read.iter().any(|file| file.real == path) {
                add(&mut found, path);
            }
        }
    }
    found
}
