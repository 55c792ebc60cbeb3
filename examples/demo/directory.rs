//! The demo's own directory.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Exists in a directory that the demo created.
const MARKER: &str = "created-by-cargo-demo";

/// Creates the directory and its marker. An existing one is used only if it is a real directory with the marker, since
/// the demo replaces files in it.
pub fn create(dir: &Path) -> Result<(), String> {
    let marker = dir.join(MARKER);
    let failed = |error| format!("cannot create `{}`: {error}", dir.display());
    match fs::create_dir(dir) {
        Ok(()) => fs::write(marker, "").map_err(failed),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let is_dir = fs::symlink_metadata(dir).is_ok_and(|it| it.is_dir());
            if is_dir && fs::symlink_metadata(marker).is_ok_and(|it| it.is_file()) {
                return Ok(());
            }
            Err(format!(
                "cannot use `{}`: the demo did not create it\n  = help: move or remove it",
                dir.display()
            ))
        }
        Err(error) => Err(failed(error)),
    }
}
