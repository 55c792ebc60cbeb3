//! Whether something that was made is still what would be made now.
//!
//! A stamp is a small text file beside it: what it was made with, then the size, the date and the path of every file
//! that was read. It holds while all of that is the same; a file with an older date than before counts as changed.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file that changed so shortly before it was read may have changed while it was: file systems keep time in steps.
const DOUBT: Duration = Duration::from_millis(50);

/// What was read to make it, if it is fresh: made by `how` from files that are all as they were.
pub fn fresh(stamp: &Path, how: &str) -> Option<Vec<PathBuf>> {
    let text = std::fs::read_to_string(stamp).ok()?;
    let files = text.strip_prefix(how)?.strip_prefix("\n\n")?;
    files
        .lines()
        .map(|line| {
            let path = Path::new(line.splitn(3, ' ').nth(2)?);
            (state(path)? == line).then(|| path.to_path_buf())
        })
        .collect()
}

/// Says so for later. `begun` is the time before the first of the files was read; one that has changed since, or
/// cannot be written down, leaves no stamp, and the next build makes everything anew.
pub fn write(stamp: &Path, how: &str, files: &[PathBuf], begun: SystemTime) {
    let lines = files.iter().map(|path| settled(path, begun));
    if let Some(lines) = lines.collect::<Option<Vec<_>>>() {
        // Without a stamp it is only made again.
        let _ = std::fs::write(stamp, format!("{how}\n\n{}\n", lines.join("\n")));
    }
}

/// Takes it back, before something is made again.
pub fn remove(stamp: &Path) {
    let _ = std::fs::remove_file(stamp);
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
