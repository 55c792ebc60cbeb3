use crate::model::Environment;
use crate::system::files;
use std::path::{Path, PathBuf};

/// A package without a program. Its rpath does not reach the programs that depend on it.
pub struct LostRpath<'a> {
    pub package: &'a str,
    /// The `links` key of the package, through which the build scripts of the programs can query the rpath.
    pub links: Option<&'a str>,
    pub dir: &'a Path,
}

impl LostRpath<'_> {
    /// Returns the call by which the build script of a program gets the rpath.
    pub fn query(&self) -> String {
        let links = self.links.unwrap_or(self.package);
        format!("Linked::from_dep(\"{links}\")")
    }
}

/// Returns the fault if this package has no program: the programs that depend on it then link but fail to start. With a
/// `links` key, their build scripts can query the rpath, so it is a fault only if none in the workspace does. Also
/// returns the files that the answer depends on.
pub fn find<'a>(env: &'a Environment, dir: &'a Path) -> Option<(LostRpath<'a>, Vec<PathBuf>)> {
    let package = Path::new(env.os_var("CARGO_MANIFEST_DIR")?);
    let fault = LostRpath {
        package: env.var("CARGO_PKG_NAME")?,
        links: env.var("CARGO_MANIFEST_LINKS"),
        dir,
    };
    if has_program(package, &files::read(&package.join("Cargo.toml")).ok()?) {
        return None;
    }
    let root = workspace_root(package).filter(|_| fault.links.is_some());
    let scripts = root.map_or_else(Vec::new, build_scripts);
    let query = fault.query();
    let queries = |file: &PathBuf| files::read(file).is_ok_and(|text| text.contains(&query));
    (!scripts.iter().any(queries)).then_some((fault, scripts))
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

/// Returns the build scripts of a workspace.
fn build_scripts(root: &Path) -> Vec<PathBuf> {
    let below = |dir: &Path| files::list(dir).unwrap_or_default();
    let mut dirs = vec![root.to_path_buf()];
    for dir in below(root).into_iter().filter(|dir| files::is_dir(dir)) {
        // Members are in the root or in one of the member directories.
        if !files::is_file(&dir.join("Cargo.toml")) {
            dirs.extend(below(&dir));
        }
        dirs.push(dir);
    }
    let mut scripts = files::join_each(&dirs, "build.rs");
    files::keep(&mut scripts, &files::is_file);
    scripts
}
