use crate::link::Linked;
use crate::model::Environment;
use crate::runtime::facts::Finding;
use crate::system::files;
use std::path::{Path, PathBuf};

/// A package whose rpath does not reach the programs that depend on it.
pub enum LostRpath<'a> {
    /// No build script in the workspace queries the rpath through this `links` key.
    NotQueried { name: &'a str, links: &'a str },
    /// The package has no `links` key.
    NoLinksKey { name: &'a str },
}

/// Returns the finding if this package has no program of its own: the programs that depend on it then link but fail to
/// start. With a `links` key, their build scripts can query the rpath, so it is a fault only if none in the workspace
/// does. Also returns the files that the answer depends on.
pub fn find(env: &Environment, dir: &Path) -> Option<(Finding, Vec<PathBuf>)> {
    let package = Path::new(env.os_var("CARGO_MANIFEST_DIR")?);
    let name = env.var("CARGO_PKG_NAME")?;
    if has_program(package, &files::read(&package.join("Cargo.toml")).ok()?) {
        return None;
    }
    let Some(links) = env.var("CARGO_MANIFEST_LINKS") else {
        let fault = LostRpath::NoLinksKey { name };
        return Some((fault.finding(dir), Vec::new()));
    };
    let files = workspace_root(package).map_or_else(Vec::new, scripts_and_manifests);
    let query = Linked::query(links);
    let queries = |file: &PathBuf| files::read(file).is_ok_and(|text| text.contains(&query));
    let fault = LostRpath::NotQueried { name, links };
    (!files.iter().any(queries)).then(|| (fault.finding(dir), files))
}

/// Returns `true` if linking this package produces a file that gets the rpath.
fn has_program(package: &Path, manifest: &str) -> bool {
    files::is_file(&package.join("src/main.rs"))
        || files::is_dir(&package.join("src/bin"))
        // A shared library, such as a Python extension, gets the rpath too.
        || ["[[bin]]", "dylib\""].iter().any(|words| manifest.contains(words))
}

/// Returns the directory of the workspace that a package is a member of.
fn workspace_root(package: &Path) -> Option<&Path> {
    let is_workspace = |dir: &&Path| {
        files::read(&dir.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
    };
    package.ancestors().take(4).find(is_workspace)
}

/// Returns the build scripts and the manifests of a workspace: one that gets a build script changes its manifest.
fn scripts_and_manifests(root: &Path) -> Vec<PathBuf> {
    let below = |dir: &Path| files::list(dir).unwrap_or_default();
    let mut dirs = vec![root.to_path_buf()];
    for dir in below(root).into_iter().filter(|dir| files::is_dir(dir)) {
        // Members are in the root or in one of the member directories.
        if !files::is_file(&dir.join("Cargo.toml")) {
            dirs.extend(below(&dir));
        }
        dirs.push(dir);
    }
    let mut files = Vec::new();
    for dir in dirs {
        files.extend(files::below(&dir, &["build.rs", "Cargo.toml"]));
    }
    files::keep(&mut files, &files::is_file);
    files
}
