//! The small crates in fixtures/consumers.

use std::path::Path;
use std::{fs, io};

/// Writes the crates with a dependency on cudnn-guard in this repository, whose Cargo.lock they use, so that their builds
/// need no further downloads.
pub fn stage(repository: &Path, into: &Path) -> io::Result<()> {
    let path = repository.to_string_lossy().replace('\\', "/");
    let edit = |text: &str| text.replace("\"@CUDNN_GUARD@\"", &format!("{path:?}"));
    copy_edited(&repository.join("fixtures/consumers"), into, &edit)?;
    let lock = into.join("Cargo.lock");
    if !lock.exists() {
        fs::copy(repository.join("Cargo.lock"), lock)?;
    }
    Ok(())
}

/// Copies text files, edited, without the `.in` in their names. Unchanged files are not touched, so that cargo sees no
/// change.
pub fn copy_edited(from: &Path, into: &Path, edit: &dyn Fn(&str) -> String) -> io::Result<()> {
    fs::create_dir_all(into)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let to = into.join(name.strip_suffix(".in").unwrap_or(&name));
        if entry.path().is_dir() {
            copy_edited(&entry.path(), &to, edit)?;
            continue;
        }
        let text = edit(&fs::read_to_string(entry.path())?);
        if fs::read_to_string(&to).is_ok_and(|old| old == text) {
            continue;
        }
        fs::write(to, text)?;
    }
    Ok(())
}
