//! The state of a file in one line: size, modification time and path. A file with the same state counts as unchanged.

use crate::runtime::facts::codec::Fields;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The minimum age of a file when it is read. A newer file may have changed again, because file systems store times
/// with limited resolution.
const DOUBT: Duration = Duration::from_millis(50);

/// Reads the state of a file, if it has not changed since `begun`.
pub fn read_settled(path: &Path, begun: SystemTime) -> Option<String> {
    let changed = std::fs::metadata(path).ok()?.modified().ok()?;
    read(path).filter(|_| is_settled(changed, begun))
}

/// Returns `true` if a file changed long enough before the work began.
pub fn is_settled(changed: SystemTime, begun: SystemTime) -> bool {
    changed + DOUBT < begun
}

/// Returns the path in a state.
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
