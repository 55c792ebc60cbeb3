//! Checks whether build outputs are up to date.
//!
//! A stamp is a small text file beside the output:
//!
//! ```text
//! took 1234                                the milliseconds of the work
//! file - 17 1700000000000000000 src/a.cu   the hash, if known, and the state of every file that was read
//! how nvcc -c src/a.cu                     the command
//! size 2048                                the size of the output
//! ```
//!
//! The output is up to date if the last two lines describe it now, and each file has the same state or hash.

use crate::runtime::facts::{Finding, codec};
use crate::system::freshness::stat_cache::{self, File, StatCache};
use crate::system::{files, out_dir};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

#[derive(Clone)]
pub struct Artifact {
    pub output: PathBuf,
    pub stamp: PathBuf,
    /// Everything that determines the output, except the files that are read: the command.
    pub how: String,
}

/// Returns the milliseconds in a stamp.
pub fn duration(stamp: &Path) -> Option<u64> {
    let text = files::read_to_string(stamp).ok()?;
    let (took, _) = text.strip_prefix("took ")?.split_once('\n')?;
    took.parse().ok()
}

impl Artifact {
    /// Returns the files that were read for the output, if it is up to date. If only times have changed, as after a
    /// checkout, the stamp gets the new times.
    pub fn fresh(&self, seen: &StatCache) -> Option<Vec<Rc<File>>> {
        let stamp = files::read_to_string(&self.stamp).ok()?;
        let rest = self.description()?;
        let (took, lines) = stamp.strip_suffix(&*rest)?.split_once('\n')?;
        let (files, now) = seen.unchanged(lines)?;
        if now != lines {
            let _ = std::fs::write(&self.stamp, format!("{took}\n{now}{rest}"));
        }
        Some(files)
    }

    /// Writes the output and its inputs to one file, from which [`restore`](Self::restore) makes them again:
    ///
    /// ```text
    /// <hash of the rest> <length of the next lines>
    /// took 1234
    /// file <hash> 17 1700000000000000000 src/a.cu
    /// <the output>
    /// ```
    ///
    /// Does nothing without a stamp, or if the hash of an input is unknown.
    pub fn save(&self, entry: &Path) -> Option<()> {
        let stamp = files::read_to_string(&self.stamp).ok()?;
        let inputs = stamp.strip_suffix(&*self.description()?)?;
        if inputs.lines().any(|line| line.starts_with("file - ")) {
            return None;
        }
        let mut rest = inputs.as_bytes().to_vec();
        rest.append(&mut std::fs::read(&self.output).ok()?);
        let mut text = format!("{} {}\n", stat_cache::hash(&rest), inputs.len()).into_bytes();
        text.append(&mut rest);
        out_dir::replace(entry, &text).ok()
    }

    /// Makes the output and its stamp from a saved file, if the inputs have not changed. `dirs` is where headers are
    /// searched. Returns the inputs.
    pub fn restore(
        &self,
        entry: &Path,
        dirs: &[PathBuf],
        seen: &StatCache,
    ) -> Option<Vec<Rc<File>>> {
        let text = std::fs::read(entry).ok()?;
        let end = text.iter().position(|byte| *byte == b'\n')?;
        let (hash, length) = std::str::from_utf8(&text[..end]).ok()?.split_once(' ')?;
        let rest = &text[end + 1..];
        if stat_cache::hash(rest) != hash {
            return None;
        }
        let (inputs, output) = rest.split_at_checked(length.parse().ok()?)?;
        let (took, lines) = std::str::from_utf8(inputs).ok()?.split_once('\n')?;
        let (files, now) = seen.unchanged(lines)?;
        if files.iter().any(|file| seen.is_shadowed(&file.path, dirs)) {
            return None;
        }
        out_dir::remove(&self.stamp);
        std::fs::write(&self.output, output).ok()?;
        let stamp = format!("{took}\n{now}{}", self.description()?);
        std::fs::write(&self.stamp, stamp).ok()?;
        // The entries that were used last are kept. If this fails, this one is only removed earlier.
        let entry = std::fs::File::options().append(true).open(entry);
        let _ = entry.and_then(|entry| entry.set_modified(SystemTime::now()));
        Some(files)
    }

    /// Makes the output of these files, which `how` contains, unless it is up to date. Only this build script writes
    /// them, so they are stable, however new they are.
    pub fn make_of(
        &self,
        files: &[PathBuf],
        make: &mut dyn FnMut() -> Result<(), Finding>,
    ) -> Result<(), Finding> {
        if self.fresh(&StatCache::default()).is_none() {
            out_dir::remove(&self.stamp);
            make()?;
            self.write(files, SystemTime::now() + Duration::from_secs(1), false);
        }
        Ok(())
    }

    /// Writes the stamp. `begun` is the time before the first file was read. If a file has changed since then, or its
    /// path cannot be encoded, no stamp is written, and the next build rebuilds the output. `is_hashed`: the stamp also gets
    /// the hashes of the files, which take longer than it takes to make a small output again.
    pub fn write(&self, read: &[PathBuf], begun: SystemTime, is_hashed: bool) {
        let seen = StatCache::default();
        let mut lines = String::new();
        for path in read {
            let file = seen.file(path);
            let file = file.filter(|file| file.changed + stat_cache::DOUBT < begun);
            let Some(line) = file.and_then(|file| file.line(is_hashed)) else {
                return;
            };
            lines += &line;
        }
        if let Some(rest) = self.description() {
            let took = SystemTime::now().duration_since(begun).unwrap_or_default();
            let text = format!("took {}\n{lines}{rest}", took.as_millis());
            // Without a stamp the output is only rebuilt.
            let _ = std::fs::write(&self.stamp, text);
        }
    }

    /// Describes the output. A killed build or a full disk leaves a truncated output, which has another size, or a
    /// truncated stamp, in which the last lines are missing.
    fn description(&self) -> Option<String> {
        let size = std::fs::metadata(&self.output).ok()?.len();
        Some(codec::line("how", &self.how) + &format!("\nsize {size}\n"))
    }
}
