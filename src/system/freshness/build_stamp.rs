//! Checks whether build outputs are up to date.
//!
//! A stamp is a small text file beside the output:
//!
//! ```text
//! took 1234                            the milliseconds of the work
//! file 17 1700000000000000000 src/a.cu the state of every file that was read
//! how nvcc -c src/a.cu                 the command
//! size 2048                            the size of the output
//! ```
//!
//! The output is up to date if the same lines, without the first, describe it and the files now.

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
    /// Returns the files that were read for the output, if it is up to date.
    pub fn fresh(&self, seen: &StatCache) -> Option<Vec<Rc<File>>> {
        let stamp = files::read_to_string(&self.stamp).ok()?;
        let (_, described) = stamp.split_once('\n')?;
        let files = seen.files(described)?;
        (self.description(&files)? == described).then_some(files)
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
            self.write(files, SystemTime::now() + Duration::from_secs(1));
        }
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
        if let Some(described) = self.description(&files) {
            let took = SystemTime::now().duration_since(begun).unwrap_or_default();
            let text = format!("took {}\n{described}", took.as_millis());
            // Without a stamp the output is only rebuilt.
            let _ = std::fs::write(&self.stamp, text);
        }
    }

    /// Describes the output and the files. A killed build or a full disk leaves a truncated output, which has another
    /// size, or a truncated stamp, in which the last lines are missing.
    fn description(&self, files: &[Rc<File>]) -> Option<String> {
        let mut text = String::new();
        for file in files {
            text += "file ";
            text += file.state.as_deref()?;
            text += "\n";
        }
        let size = std::fs::metadata(&self.output).ok()?.len();
        text += &codec::line("how", &self.how);
        Some(text + &format!("\nsize {size}\n"))
    }
}
