//! Whether something that was made is still what would be made now.
//!
//! A stamp is a small text file beside it:
//!
//! ```text
//! how nvcc -c src/a.cu                 how it was made
//! hash 0123456789abcdef                of all that follows, and of what does not stand here: the size of what was made,
//!                                      where links lead, which headers lie before others
//! file 17 1700000000000000000 src/a.cu size, date and path of every file that was read
//! ```
//!
//! It holds while all of that is the same; a file with an older date than before counts as changed.

use crate::runtime::facts::codec;
use crate::system::freshness::stat_cache::{File, StatCache};
use crate::system::freshness::{fingerprint, header_shadowing};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

/// Something that is made of files.
pub struct Artifact<'a> {
    /// What was made.
    pub output: &'a Path,
    /// What is known of it.
    pub stamp: &'a Path,
    /// All that decides what comes out, the files that are read apart.
    pub how: &'a str,
    /// Where a compiler looks for headers, in its order.
    pub search: &'a [PathBuf],
}

impl Artifact<'_> {
    /// What was read to make it, if it is fresh.
    pub fn fresh(&self, seen: &StatCache) -> Option<Vec<Rc<File>>> {
        let text = std::fs::read_to_string(self.stamp).ok()?;
        let (mut how, mut hash, mut lines) = (String::new(), "", Vec::new());
        codec::each_line(&text, &mut |key, value| match key {
            "how" => codec::set(&mut how, value),
            "hash" => hash = value,
            "file" => lines.push(value),
            _ => {}
        });
        if how != self.how {
            return None;
        }
        let before = seen.before.take();
        let (mut place, mut files) = (0, Vec::new());
        for line in lines {
            let next = before.get(place);
            let file = match next.filter(|next| next.line.as_deref() == Some(line)) {
                Some(next) => Rc::clone(next),
                None => {
                    let file = seen.file(&fingerprint::path(line)?)?;
                    if file.line.as_deref() != Some(line) {
                        return None;
                    }
                    let found = before.iter().position(|one| Rc::ptr_eq(one, &file));
                    place = found.unwrap_or(place);
                    file
                }
            };
            place += 1;
            files.push(file);
        }
        let hash_now = self.hash(&files, seen)?;
        seen.before.replace(files.clone());
        (hash_now == hash).then_some(files)
    }

    /// Whether it is fresh and made of these.
    pub fn is_made_of(&self, files: &[PathBuf]) -> bool {
        let read = self.fresh(&StatCache::default());
        read.is_some_and(|read| read.iter().map(|file| &file.path).eq(files))
    }

    /// Says so for later. `begun` is the time before the first of the files was read; one that has changed since, or
    /// cannot be written down, leaves no stamp, and the next build makes everything anew.
    pub fn write(&self, read: &[PathBuf], begun: SystemTime) {
        let seen = StatCache::default();
        let settled = |path: &PathBuf| {
            let file = seen.file(path)?;
            fingerprint::is_settled(file.changed, begun).then_some(file)
        };
        let files: Option<Vec<Rc<File>>> = read.iter().map(settled).collect();
        let hash = files.as_ref().and_then(|files| self.hash(files, &seen));
        if let (Some(files), Some(hash)) = (files, hash) {
            let how = codec::line("how", &self.how.to_string());
            let mut text = format!("{how}\nhash {hash}\n");
            for line in files.iter().filter_map(|file| file.line.as_deref()) {
                text.extend(["file ", line, "\n"]);
            }
            // Without a stamp it is only made again.
            let _ = std::fs::write(self.stamp, text);
        }
    }

    /// Takes it back, before something is made again.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(self.stamp);
    }

    /// A build that is killed, or a disk that is full, leaves the half of a file.
    fn hash(&self, files: &[Rc<File>], seen: &StatCache) -> Option<String> {
        let size = std::fs::metadata(self.output).ok()?.len();
        let mut hasher = DefaultHasher::new();
        size.hash(&mut hasher);
        for file in files {
            hasher.write_u64(file.hash);
        }
        header_shadowing::shadowing_headers(self.search, files, seen).hash(&mut hasher);
        Some(format!("{:016x}", hasher.finish()))
    }
}
