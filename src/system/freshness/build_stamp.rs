//! Checks whether build outputs are up to date.
//!
//! A stamp is a small text file beside the output:
//!
//! ```text
//! took 1234                            the milliseconds of the work
//! how nvcc -c src/a.cu                 the command
//! hash 0123456789abcdef                hash of the following lines, the size of the output, the targets of links, and
//!                                      the headers that shadow others
//! file 17 1700000000000000000 src/a.cu size, modification time and path of every file that was read
//! ```
//!
//! It is valid while the command, the hash and the files are unchanged. A file with an older modification time also counts as changed.

use crate::runtime::facts::{Finding, codec};
use crate::system::files;
use crate::system::freshness::header_shadowing;
use crate::system::freshness::stat_cache::{self, File, StatCache};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

#[derive(Default)]
pub struct Artifact {
    pub output: PathBuf,
    pub stamp: PathBuf,
    /// Everything that determines the output, except the files that are read: the command.
    pub how: String,
    /// The compiler's search path for headers.
    pub search: Vec<PathBuf>,
}

/// Returns the milliseconds in a stamp.
pub fn duration(stamp: &Path) -> Option<u64> {
    let text = files::read_to_string(stamp).ok()?;
    let (took, _) = text.strip_prefix("took ")?.split_once('\n')?;
    took.parse().ok()
}

impl Artifact {
    /// Returns the files that were read for the output, if it is up to date.
    pub fn fresh(&self, seen: &StatCache) -> Option<Vec<Rc<File>>> {
        let text = files::read_to_string(&self.stamp).ok()?;
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
                    let file = seen.file(&stat_cache::path(line)?)?;
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

    /// Makes the output of these files, unless it is up to date. Only this build script writes them, so they are stable,
    /// however new they are.
    pub fn make_of(
        &self,
        files: &[PathBuf],
        make: &mut dyn FnMut() -> Result<(), Finding>,
    ) -> Result<(), Finding> {
        let read = self.fresh(&StatCache::default());
        if read.is_some_and(|read| read.iter().map(|file| &file.path).eq(files)) {
            return Ok(());
        }
        self.remove();
        make()?;
        self.write(files, SystemTime::now() + Duration::from_secs(1));
        Ok(())
    }

    /// Writes the stamp. `begun` is the time before the first file was read. If a file has changed since then, or its
    /// path cannot be encoded, no stamp is written, and the next build rebuilds the output.
    pub fn write(&self, read: &[PathBuf], begun: SystemTime) {
        let seen = StatCache::default();
        let mut files = Vec::new();
        for path in read {
            match seen.file(path) {
                Some(file) if file.changed + stat_cache::DOUBT < begun => files.push(file),
                _ => return,
            }
        }
        if let Some(hash) = self.hash(&files, &seen) {
            let how = codec::line("how", &self.how);
            let took = SystemTime::now().duration_since(begun).unwrap_or_default();
            let mut text = format!("took {}\n{how}\nhash {hash}\n", took.as_millis());
            for file in &files {
                if let Some(line) = &file.line {
                    text += &format!("file {line}\n");
                }
            }
            // Without a stamp the output is only rebuilt.
            let _ = std::fs::write(&self.stamp, text);
        }
    }

    /// Removes the stamp before the output is rebuilt.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(&self.stamp);
    }

    /// Returns the hash. It includes the size of the output, because a killed build or a full disk leaves a truncated
    /// file.
    fn hash(&self, files: &[Rc<File>], seen: &StatCache) -> Option<String> {
        let size = std::fs::metadata(&self.output).ok()?.len();
        let mut hasher = DefaultHasher::new();
        size.hash(&mut hasher);
        for file in files {
            hasher.write_u64(file.hash);
        }
        header_shadowing::shadowing_headers(&self.search, files, seen).hash(&mut hasher);
        Some(format!("{:016x}", hasher.finish()))
    }
}
