//! Files and directories in OUT_DIR.

use crate::model::Environment;
use crate::runtime::facts::Finding;
use crate::system::files::failed;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::SystemTime;

/// Done once the guard of an earlier run cannot be mistaken for one of this run.
static IS_CURRENT: Once = Once::new();

/// Creates a directory and its parents.
pub fn create_dir(path: &Path) -> Result<(), Finding> {
    std::fs::create_dir_all(path).map_err(|error| failed("create", path, &error))
}

/// Removes a file if it exists.
pub fn remove(path: &Path) {
    // A file that cannot be removed cannot be rewritten either, and rewriting it reports the error.
    let _ = std::fs::remove_file(path);
}

/// Removes the guard of an earlier run, which cargo leaves in OUT_DIR, in case this build script writes none.
pub fn remove_stale_guard(env: &Environment) {
    // cargo also sets OUT_DIR for tests and for `cargo run`, but these only for build scripts.
    if env.os_var("NUM_JOBS").is_none() || env.os_var("TARGET").is_none() {
        return;
    }
    IS_CURRENT.call_once(|| {
        if let Some(path) = guard(env) {
            remove(&path);
        }
    });
}

/// Returns the path of the guard that this run writes.
pub fn current_guard(env: &Environment) -> Option<PathBuf> {
    IS_CURRENT.call_once(|| {});
    guard(env)
}

fn guard(env: &Environment) -> Option<PathBuf> {
    Some(Path::new(env.os_var("OUT_DIR")?).join("cudnn_guard.rs"))
}

/// Copies a file atomically. An identical copy is left unchanged.
pub fn copy(file: &Path, copy: &Path) -> Result<(), Finding> {
    let bytes = std::fs::read(file).map_err(|error| failed("read", file, &error))?;
    if std::fs::read(copy).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    replace(copy, &bytes)
}

/// Writes a file atomically.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), Finding> {
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    written.map_err(|error| {
        remove(&part);
        failed("write", path, &error)
    })
}

/// Writes a file whose name determines its text. It gets an old date, because a new file counts as changed.
pub fn write_named(path: &Path, text: &str) -> Result<(), Finding> {
    if std::fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    replace(path, text.as_bytes())?;
    let file = std::fs::File::options().append(true).open(path);
    let dated = file.and_then(|file| file.set_modified(SystemTime::UNIX_EPOCH));
    dated.map_err(|error| failed("write", path, &error))
}

/// Calls `with` with a temporary directory, which is removed afterwards.
#[cfg(feature = "cli")]
pub fn in_scratch<T>(with: impl FnOnce(&Path) -> T) -> Option<T> {
    let dir = std::env::temp_dir().join(format!("cudnn-guard-{}", std::process::id()));
    std::fs::create_dir(&dir).ok()?;
    let result = with(&dir);
    // Leftovers are small, and the system clears temporary directories.
    let _ = std::fs::remove_dir_all(&dir);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// cargo sets OUT_DIR for the tests of a crate with a build script.
    #[test]
    fn a_test_keeps_the_guard_of_its_crate() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-kept-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let file = dir.join("cudnn_guard.rs");
        std::fs::write(&file, "").unwrap();
        let in_test = [("OUT_DIR", dir.as_os_str()), ("TARGET", "x".as_ref())];
        let in_test = in_test.map(|(name, value)| (name.to_string(), value.to_os_string()));
        remove_stale_guard(&Environment::new(in_test));
        assert!(file.exists());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
