//! What a build writes into OUT_DIR beside the texts of `files`.

use crate::runtime::facts::finding::Finding;
use crate::system::files::failed;
use std::io;
use std::path::Path;

/// Makes a directory and those above it.
pub fn create_dir(path: &Path) -> Result<(), Finding> {
    std::fs::create_dir_all(path).map_err(|error| failed("create", path, &error))
}

/// Removes a file, if it is there.
pub fn remove(path: &Path) {
    // One that cannot be removed cannot be written anew either, which whoever writes it says.
    let _ = std::fs::remove_file(path);
}

/// Makes `name` another name of a file; where links are not to be had, a copy of it.
pub fn alias(file: &Path, name: &Path) -> Result<(), Finding> {
    match std::fs::remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed("replace", name, &error));
        }
        _ => {}
    }
    #[cfg(unix)]
    if std::os::unix::fs::symlink(file, name).is_ok() {
        return Ok(());
    }
    std::fs::copy(file, name).map_err(|error| failed("copy", file, &error))?;
    Ok(())
}

/// Makes `copy` a copy of a file, and leaves one that is the same as it is. It is never there in part.
pub fn copy(file: &Path, copy: &Path) -> Result<(), Finding> {
    let bytes = std::fs::read(file).map_err(|error| failed("read", file, &error))?;
    if std::fs::read(copy).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let part = copy.with_extension(format!("{}.part", std::process::id()));
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, copy));
    written.map_err(|error| {
        remove(&part);
        failed("write", copy, &error)
    })
}

/// What `with` gives in a directory of its own, which is gone afterwards.
#[cfg(feature = "cli")]
pub fn in_scratch<T>(with: impl FnOnce(&Path) -> T) -> Option<T> {
    let dir = std::env::temp_dir().join(format!("cudnn-guard-{}", std::process::id()));
    std::fs::create_dir(&dir).ok()?;
    let given = with(&dir);
    // What is left there is small, and the system clears such places.
    let _ = std::fs::remove_dir_all(&dir);
    Some(given)
}
