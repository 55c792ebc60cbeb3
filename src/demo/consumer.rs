//! The small crates in fixtures/consumers, made ready to be built.

use std::path::Path;
use std::{fs, io};

/// Copies the consumers from `fixtures` to `into`, with their manifests' `.in` taken off. They depend on cudnn-guard by
/// `source`, `path = ".."` or `version = ".."`. Files that are the same already are left alone, so that cargo sees no
/// change. Each text is edited on the way.
pub fn stage(
    fixtures: &Path,
    source: &str,
    into: &Path,
    edit: &dyn Fn(&str) -> String,
) -> io::Result<()> {
    let edit = |text: &str| edit(&text.replace("path = \"@CUDNN_GUARD@\"", source));
    copy(&fixtures.join("consumers"), into, &edit)
}

/// What names the crate in this directory to cargo.
pub fn by_path(repository: &Path) -> String {
    let path = repository.to_string_lossy().replace('\\', "/");
    format!("path = {path:?}")
}

/// One lock for all: nested builds need nothing that this repository has not downloaded already.
pub fn lock(repository: &Path, into: &Path) -> io::Result<()> {
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
