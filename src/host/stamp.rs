//! Whether something that was made is still what would be made now.
//!
//! A stamp is a small text file beside it:
//!
//! ```text
//! how it was made
//!
//! 0123456789abcdef                    a hash of all that follows, and of what does not stand here: the size of what
//!                                     was made, where links lead, which headers lie before others
//! 17 1700000000000000000 src/a.cu     size, date and path of every file that was read
//! ```
//!
//! It holds while all of that is the same; a file with an older date than before counts as changed.

use super::shadow;
use crate::host::files;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file that changed so shortly before it was read may have changed while it was: file systems keep time in steps.
const DOUBT: Duration = Duration::from_millis(50);

/// Something that is made of files.
pub struct Made<'a> {
    /// What was made.
    pub output: &'a Path,
    /// What is known of it.
    pub stamp: &'a Path,
    /// All that decides what comes out, the files that are read apart.
    pub how: &'a str,
    /// Where a compiler looks for headers, in its order.
    pub search: &'a [PathBuf],
}

impl Made<'_> {
    /// What was read to make it, if it is fresh.
    pub fn fresh(&self) -> Option<Vec<PathBuf>> {
        let text = std::fs::read_to_string(self.stamp).ok()?;
        let (hash, lines) = text
            .strip_prefix(self.how)?
            .strip_prefix("\n\n")?
            .split_once('\n')?;
        let read: Option<Vec<PathBuf>> = lines
            .lines()
            .map(|line| {
                let path = Path::new(line.splitn(3, ' ').nth(2)?);
                (state(path)? == line).then(|| path.to_path_buf())
            })
            .collect();
        let read = read?;
        (self.hash(lines, &read)? == hash).then_some(read)
    }

    /// Says so for later. `begun` is the time before the first of the files was read; one that has changed since, or
    /// cannot be written down, leaves no stamp, and the next build makes everything anew.
    pub fn write(&self, read: &[PathBuf], begun: SystemTime) {
        let lines = read.iter().map(|path| settled(path, begun));
        let lines = lines.collect::<Option<Vec<_>>>();
        let lines = lines.map(|lines| lines.join("\n") + "\n");
        let hash = lines.as_deref().and_then(|lines| self.hash(lines, read));
        if let (Some(lines), Some(hash)) = (lines, hash) {
            // Without a stamp it is only made again.
            let _ = std::fs::write(self.stamp, format!("{}\n\n{hash}\n{lines}", self.how));
        }
    }

    /// Takes it back, before something is made again.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(self.stamp);
    }

    /// A build that is killed, or a disk that is full, leaves the half of a file.
    fn hash(&self, lines: &str, read: &[PathBuf]) -> Option<String> {
        let size = std::fs::metadata(self.output).ok()?.len();
        let real = real(read)?;
        let mut hasher = DefaultHasher::new();
        let before = shadow::before(self.search, &real);
        (size, lines, real, before).hash(&mut hasher);
        Some(format!("{:016x}", hasher.finish()))
    }
}

/// Where the files are, links followed. Another file behind a link may have the size and the date of the first: Nix
/// gives all files one date.
fn real(paths: &[PathBuf]) -> Option<Vec<PathBuf>> {
    // There are hundreds of files in a few directories.
    let mut dirs: HashMap<&Path, PathBuf> = HashMap::new();
    let each = paths.iter().map(|path| {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return files::canonical(path, None).ok();
        };
        if files::is_link(path) {
            return files::canonical(path, None).ok();
        }
        if !dirs.contains_key(dir) {
            // The parent of `a.cu` is the empty path.
            let named = if dir.as_os_str().is_empty() {
                Path::new(".")
            } else {
                dir
            };
            dirs.insert(dir, files::canonical(named, None).ok()?);
        }
        Some(dirs.get(dir)?.join(name))
    });
    each.collect()
}

/// The state of a file that has not changed since then, and that can be written down.
pub fn settled(path: &Path, begun: SystemTime) -> Option<String> {
    let changed = std::fs::metadata(path).ok()?.modified().ok()?;
    let line = state(path)?;
    (changed + DOUBT < begun && !line.contains(['\n', '\r'])).then_some(line)
}

/// Size, date and path of a file.
pub fn state(path: &Path) -> Option<String> {
    let data = std::fs::metadata(path).ok()?;
    let date = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!(
        "{} {} {}",
        data.len(),
        date.as_nanos(),
        path.to_str()?
    ))
}
