//! An rpath that reaches no program.

use crate::model::environment::Environment;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::system::files;
use std::path::{Path, PathBuf};

/// Returns the finding that this package has no program of its own, and that cargo tells those above it nothing of
/// `dir`: they are linked, and end before `main`. With a `links` key their build scripts can ask, and none in the
/// workspace does. The files are those that the answer depends on.
pub fn finding(env: &Environment, dir: &Path) -> Option<(Finding, Vec<PathBuf>)> {
    let package = Path::new(env.os_var("CARGO_MANIFEST_DIR")?);
    let name = env.var("CARGO_PKG_NAME")?;
    let manifest = files::read(&package.join("Cargo.toml")).ok()?;
    let has_program = files::is_file(&package.join("src/main.rs"))
        || files::is_dir(&package.join("src/bin"))
        // A shared library, such as a Python extension, gets the rpath too.
        || ["[[bin]]", "dylib\""].iter().any(|words| manifest.contains(words));
    if has_program {
        return None;
    }
    if let Some(links) = env.var("CARGO_MANIFEST_LINKS") {
        let ask = format!("Linked::from_dep(\"{links}\")");
        let files = scripts_and_manifests(package);
        if files
            .iter()
            .any(|file| files::read(file).is_ok_and(|text| text.contains(&ask)))
        {
            return None;
        }
        let summary = format!(
            "programs above `{name}` do not find what lies in `{}` unless their build.rs asks for its rpath",
            dir.display()
        );
        let finding = Finding::warning(FindingId::LibraryNotFound, summary)
            .help(format!("write `cudnn_guard::{ask}?.link()` in the build.rs of each program"))
            .help("or call `.allow(\"library-not-found\")` in this build.rs, where programs elsewhere do so");
        return Some((finding, files));
    }
    let summary = format!(
        "programs above the library `{name}` do not get its rpath to `{}`: cargo passes on what is linked, and no \
         arguments of the linker",
        dir.display()
    );
    let ask = format!("cudnn_guard::Linked::from_dep(\"{name}\")?.link()");
    let finding = Finding::warning(FindingId::LibraryNotFound, summary)
            .help(format!(
                "write `links = \"{name}\"` under [package] in its Cargo.toml, and `{ask}` in the build.rs of each program"
            ))
            .help("or call `.rpath(false)` in its build.rs, where LD_LIBRARY_PATH or ld.so.conf names that directory");
    Some((finding, Vec::new()))
}

/// Returns the build scripts and manifests of the workspace that this package is a member of.
fn scripts_and_manifests(package: &Path) -> Vec<PathBuf> {
    let is_workspace = |dir: &&Path| {
        files::read(&dir.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
    };
    let Some(root) = package.ancestors().take(4).find(is_workspace) else {
        return Vec::new();
    };
    let below = |dir: &Path| files::list(dir).unwrap_or_default();
    let mut dirs = vec![root.to_path_buf()];
    for dir in below(root).into_iter().filter(|dir| files::is_dir(dir)) {
        // Members lie in the root or in a directory of members.
        if !files::is_file(&dir.join("Cargo.toml")) {
            dirs.extend(below(&dir));
        }
        dirs.push(dir);
    }
    let files = dirs
        .iter()
        .flat_map(|dir| [dir.join("build.rs"), dir.join("Cargo.toml")]);
    files.filter(|file| files::is_file(file)).collect()
}
