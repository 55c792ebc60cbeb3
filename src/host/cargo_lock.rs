//! The `Cargo.lock` by which cargo builds.

use super::files;
use crate::model::env::Env;
use crate::rules::cudarc;
use std::path::{Path, PathBuf};

/// What cargo leaves beside the manifest of a package that it unpacked: the lock there is that of its author.
const UNPACKED: [&str; 2] = [".cargo-ok", ".cargo-checksum.json"];

/// Its file and its text. Cargo does not tell where it is: it is looked for above the output directory, which lies
/// beside it unless somebody moved it, then above the manifest. One without the package that is being built is another.
pub fn find(env: &Env) -> Option<(PathBuf, String)> {
    let (name, version) = (env.text("CARGO_PKG_NAME")?, env.text("CARGO_PKG_VERSION")?);
    let out_dir = env.named("OUT_DIR").map(Path::new);
    let manifest = env.named("CARGO_MANIFEST_DIR").map(Path::new);
    let own = manifest.filter(|dir| !UNPACKED.iter().any(|mark| files::is_there(&dir.join(mark))));
    let above = [out_dir, own].into_iter().flatten();
    let files = above.flat_map(|dir| dir.ancestors().map(|dir| dir.join("Cargo.lock")));
    files.filter(|file| files::is_file(file)).find_map(|file| {
        let text = files::read(&file).ok()?;
        cudarc::holds(&text, name, version).then_some((file, text))
    })
}
