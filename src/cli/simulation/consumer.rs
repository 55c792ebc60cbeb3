//! The small crates in fixtures/consumers.

use crate::cli::simulation::sources::{self, CONSUMERS};
use std::path::Path;
use std::{fs, io};

/// Writes the consumers with the dependency `source` on cudnn-guard: `path = ".."` or `version =
/// ".."`.
pub fn stage(source: &str, into: &Path) -> io::Result<()> {
    let edit = |text: &str| text.replace("path = \"@CUDNN_GUARD@\"", source);
    sources::write(CONSUMERS, into, &edit)
}

/// Returns the dependency on the crate in this directory, for [`stage`].
pub fn by_path(repository: &Path) -> String {
    let path = repository.to_string_lossy().replace('\\', "/");
    format!("path = {path:?}")
}

/// Copies the repository's Cargo.lock, so that nested builds need no further downloads.
pub fn lock(repository: &Path, into: &Path) -> io::Result<()> {
    let lock = into.join("Cargo.lock");
    if !lock.exists() && repository.join("Cargo.lock").exists() {
        fs::copy(repository.join("Cargo.lock"), lock)?;
    }
    Ok(())
}
