//! A text file that is replaced whole: whatever stops that half-way, the old one is there.

use std::path::Path;
use std::{fs, io};

/// Writes it under another name first. A link stays, and what it leads to is replaced.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let mut name = real.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    let fresh = real.with_file_name(name);
    let replaced = fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &real));
    if replaced.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    replaced
}
