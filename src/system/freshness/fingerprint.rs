//! The state of a file, in one line: size, date and path. A file is taken for the same while its state is.

use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file that changed so shortly before it was read may have changed while it was: file systems keep time in steps.
const DOUBT: Duration = Duration::from_millis(50);

/// That of a file that has not changed since then, and that can be written down.
pub fn read_settled(path: &Path, begun: SystemTime) -> Option<String> {
    let changed = std::fs::metadata(path).ok()?.modified().ok()?;
    read(path).filter(|line| is_settled(changed, line, begun))
}

/// Whether it had not changed for a while then, and can be written down.
pub fn is_settled(changed: SystemTime, line: &str, begun: SystemTime) -> bool {
    changed + DOUBT < begun && !line.contains('\n') && !line.contains('\r')
}

/// That of a file.
pub fn read(path: &Path) -> Option<String> {
    line(&std::fs::metadata(path).ok()?, path)
}

/// Returns the state of a file with this metadata.
pub fn line(data: &Metadata, path: &Path) -> Option<String> {
    let date = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!(
        "{} {} {}",
        data.len(),
        date.as_nanos(),
        path.to_str()?
    ))
}
