//! The small crates in fixtures/consumers, made ready to be built.

use std::path::Path;
use std::{fs, io};

/// Copies the consumers from `fixtures/consumers` of `repository` to `into`, with their manifests' `.in` taken off and
/// the path of cudnn-guard filled in. Files that are the same already are left alone, so that cargo sees no change.
/// Each text is edited on the way.
pub fn stage(repository: &Path, into: &Path, edit: &dyn Fn(&str) -> String) -> io::Result<()> {
    let edit = |text: &str| {
        let path = repository.to_string_lossy().replace('\\', "/");
        edit(&text.replace("@CUDNN_GUARD@", &path))
    };
    copy(&repository.join("fixtures/consumers"), into, &edit)?;
    // One lock for both: nested builds need nothing that this repository has not downloaded already.
    let lock = into.join("Cargo.lock");
    if !lock.exists() && repository.join("Cargo.lock").exists() {
        fs::copy(repository.join("Cargo.lock"), lock)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, edit: &dyn Fn(&str) -> String) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to.join(name), edit)?;
            continue;
        }
        let name = name.to_string_lossy();
        let name = name.strip_suffix(".in").unwrap_or(&name);
        let text = edit(&fs::read_to_string(entry.path())?);
        let target = to.join(name);
        if fs::read_to_string(&target).ok().as_deref() != Some(text.as_str()) {
            fs::write(target, text)?;
        }
    }
    Ok(())
}
