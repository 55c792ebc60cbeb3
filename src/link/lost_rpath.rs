use crate::model::environment::Environment;
use crate::system::files;
use std::path::{Path, PathBuf};

/// A package without a program. Its rpath does not reach the programs that depend on it.
pub struct LostRpath<'a> {
    pub package: &'a str,
    /// The `links` key of the package, through which the build scripts of the programs can query the rpath.
    pub links: Option<&'a str>,
    pub dir: &'a Path,
    /// The manifests of the programs that query no rpath, although other programs of the workspace do.
    pub programs: Vec<PathBuf>,
}

impl LostRpath<'_> {
    /// Returns the call by which the build script of a program gets the rpath.
    pub fn query(&self) -> String {
        let links = self.links.unwrap_or(self.package);
        format!("Linked::from_dep(\"{links}\")")
    }
}

/// Returns the fault if this package has no program of its own: the programs that depend on it then link but fail to
/// start. With a `links` key, their build scripts can query the rpath, so it is a fault only if none in the workspace
/// does, or if one that depends on this package does not. Also returns the files that the answer depends on.
pub fn find<'a>(env: &'a Environment, dir: &'a Path) -> Option<(LostRpath<'a>, Vec<PathBuf>)> {
    let package = Path::new(env.os_var("CARGO_MANIFEST_DIR")?);
    let mut fault = LostRpath {
        package: env.var("CARGO_PKG_NAME")?,
        links: env.var("CARGO_MANIFEST_LINKS"),
        dir,
        programs: Vec::new(),
    };
    let manifest = files::read(&package.join("Cargo.toml")).ok()?;
    if has_program(package, &manifest) {
        return None;
    }
    if fault.links.is_none() {
        return Some((fault, Vec::new()));
    }
    let files = scripts_and_manifests(package);
    let query = fault.query();
    let queries = |file: &PathBuf| files::read(file).is_ok_and(|text| text.contains(&query));
    if files.iter().any(queries) {
        for manifest in files.iter().filter(|file| file.ends_with("Cargo.toml")) {
            let Ok(text) = files::read(manifest) else {
                continue;
            };
            let package = manifest.with_file_name("");
            let depends = text.lines().any(|line| depends_on(line, fault.package));
            if depends && has_program(&package, &text) && !queries(&package.join("build.rs")) {
                fault.programs.push(manifest.clone());
            }
        }
        if fault.programs.is_empty() {
            return None;
        }
    }
    Some((fault, files))
}

/// Returns `true` if linking this package produces a file that gets the rpath.
fn has_program(package: &Path, manifest: &str) -> bool {
    files::is_file(&package.join("src/main.rs"))
        || files::is_dir(&package.join("src/bin"))
        // A shared library, such as a Python extension, gets the rpath too.
        || ["[[bin]]", "dylib\""].iter().any(|words| manifest.contains(words))
}

/// Returns `true` for a line of a manifest that declares this dependency: `name = ..`, `name.workspace = true`.
fn depends_on(line: &str, name: &str) -> bool {
    let rest = line.trim_start().strip_prefix(name);
    rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
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
