//! The small crates in fixtures/consumers, made ready to be built.

use std::path::Path;
use std::{fs, io};

/// Copies the consumers from `fixtures/consumers` of `repository` to `into`, with their manifests' `.in` taken off and
/// the path of cudnn-guard filled in. Files that are the same already are left alone, so that cargo sees no change.
pub fn stage(repository: &Path, into: &Path) -> io::Result<()> {
    copy(&repository.join("fixtures/consumers"), into, repository)?;
    // One lock for both: nested builds need nothing that this repository has not downloaded already.
    let lock = into.join("Cargo.lock");
    if !lock.exists() && repository.join("Cargo.lock").exists() {
        fs::copy(repository.join("Cargo.lock"), lock)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, repository: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to.join(name), repository)?;
            continue;
        }
        let name = name.to_string_lossy();
        let name = name.strip_suffix(".in").unwrap_or(&name);
        let path = repository.to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(entry.path())?.replace("@CUDNN_GUARD@", &path);
        let target = to.join(name);
        if fs::read_to_string(&target).ok().as_deref() != Some(text.as_str()) {
            fs::write(target, text)?;
        }
    }
    Ok(())
}
