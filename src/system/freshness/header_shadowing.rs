//! Headers that precede others of the same name in a compiler's search path.

use crate::model::target_list::add;
use crate::system::freshness::stat_cache::{File, StatCache};
use std::path::PathBuf;
use std::rc::Rc;

/// Returns the files that were not read, but that are in an earlier directory of `search` and have the same name as a
/// file in `read` from a later one. A new header among them shadows the one that was read. Some existed before, skipped
/// by `#include_next` or quotes, so only a change is significant.
pub fn shadowing_headers(search: &[PathBuf], read: &[Rc<File>], seen: &StatCache) -> Vec<PathBuf> {
    let (mut earlier, mut found) = (Vec::<PathBuf>::new(), Vec::new());
    for dir in search {
        let Some(dir) = seen.dir(dir) else {
            continue;
        };
        let start = dir.as_os_str().as_encoded_bytes();
        for file in read {
            // Path components are slow to compare, and most files are elsewhere.
            let bytes = file.real.as_os_str().as_encoded_bytes();
            if earlier.is_empty() || !bytes.starts_with(start) {
                continue;
            }
            // The name by which the file was probably included.
            let Ok(name) = file.real.strip_prefix(&dir) else {
                continue;
            };
            for earlier in &earlier {
                let path = earlier.join(name);
                let is_file = seen.file(&path).is_some_and(|file| file.is_regular);
                if is_file && !read.iter().any(|file| file.real == path) {
                    add(&mut found, path);
                }
            }
        }
        earlier.push(dir);
    }
    found
}
