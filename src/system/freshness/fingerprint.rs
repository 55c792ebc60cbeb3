//! The state of a file, in one line: size, date and path. A file is taken for the same while its state is.

use crate::runtime::facts::codec::Fields;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file that changed so shortly before it was read may have changed while it was: file systems keep time in steps.
const DOUBT: Duration = Duration::from_millis(50);

/// Reads the state of a file that has not changed since then.
pub fn read_settled(path: &Path, begun: SystemTime) -> Option<String> {
    let changed = std::fs::metadata(path).ok()?.modified().ok()?;
    read(path).filter(|_| is_settled(changed, begun))
}

/// Returns `true` if a file that changed then had not changed for a while when the work was begun.
pub fn is_settled(changed: SystemTime, begun: SystemTime) -> bool {
    changed + DOUBT < begun
}

/// Returns the file that a state is of.
pub fn path(line: &str) -> Option<PathBuf> {
    String::decode(line.splitn(3, ' ').nth(2)?).map(PathBuf::from)
}

/// Reads the state of a file.
pub fn read(path: &Path) -> Option<String> {
    line(&std::fs::metadata(path).ok()?, path)
}

/// Returns the state of a file with this metadata.
pub fn line(data: &Metadata, path: &Path) -> Option<String> {
    let date = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let path = path.to_str()?.to_string().encode();
    Some(format!("{} {} {path}", data.len(), date.as_nanos()))
}
