use crate::model::Environment;
use crate::runtime::facts::Finding;
use crate::system::files;
use std::path::{Path, PathBuf};

/// A package whose rpath does not reach the programs that depend on it.
pub struct LostRpath<'a> {
    pub name: &'a str,
    /// The `links` key, through which a build script can query the rpath.
    pub links: Option<&'a str>,
}

/// Returns the finding if neither this package nor another one of the workspace has a program that gets an rpath: the
/// programs that depend on this package then link but fail to start. Also returns the files that the answer depends on,
/// because cargo repeats the warnings of a build script that it does not run again.
pub fn find(env: &Environment, dir: &Path) -> Option<(Option<Finding>, Vec<PathBuf>)> {
    let package = Path::new(env.os_var("CARGO_MANIFEST_DIR")?);
    let name = env.var("CARGO_PKG_NAME")?;
    if has_program(package) {
        return None;
    }
    let is_workspace = |dir: &&Path| {
        files::read(&dir.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
    };
    let workspace = package.ancestors().take(4).find(is_workspace);
    let root = workspace.unwrap_or(package);
    // A new package changes the lock file.
    let mut files = vec![package.join("Cargo.toml"), root.join("Cargo.lock")];
    for member in members(root) {
        let (manifest, script) = (member.join("Cargo.toml"), build_script(&member));
        if has_program(&member) && is_linking(&script) {
            return Some((None, vec![manifest, script]));
        }
        files.extend([manifest, script]);
    }
    files::keep(&mut files, &files::is_file);
    let links = env.var("CARGO_MANIFEST_LINKS");
    Some((Some(LostRpath { name, links }.finding(dir)), files))
}

/// Returns `true` if linking this package produces a file that gets the rpath.
fn has_program(package: &Path) -> bool {
    let manifest = files::read(&package.join("Cargo.toml")).unwrap_or_default();
    files::is_file(&package.join("src/main.rs"))
        || files::is_dir(&package.join("src/bin"))
        // A shared library, such as a Python extension, gets the rpath too.
        || ["[[bin]]", "dylib\""].iter().any(|words| manifest.contains(words))
}

/// Returns the directories of a workspace's packages: the root, and those that match a text in its manifest.
fn members(root: &Path) -> Vec<PathBuf> {
    let manifest = files::read(&root.join("Cargo.toml")).unwrap_or_default();
    let mut dirs = vec![root.to_path_buf()];
    let texts = manifest.split(['"', '\'']);
    for text in texts.filter(|text| !text.contains("**")) {
        let found = files::glob(&root.join(text).to_string_lossy());
        dirs.extend(found.unwrap_or_default());
    }
    dirs
}

fn build_script(package: &Path) -> PathBuf {
    let manifest = files::read(&package.join("Cargo.toml")).unwrap_or_default();
    let value = |line: &str| {
        Some(
            line.strip_prefix("build = \"")?
                .strip_suffix('"')?
                .to_string(),
        )
    };
    let named = manifest.lines().find_map(value);
    package.join(named.as_deref().unwrap_or("build.rs"))
}

/// Returns `true` if a build script calls `Toolchain::link` or `Linked::link`.
fn is_linking(script: &Path) -> bool {
    let text = files::read(script).unwrap_or_default();
    text.contains("cudnn_guard") && text.contains(".link()")
}
