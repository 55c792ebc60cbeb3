use crate::link::Linked;
use crate::model::Environment;
use crate::runtime::facts::Finding;
use crate::system::files;
use std::path::{Path, PathBuf};

/// Returns the finding if this package has no program of its own: the programs that depend on it then link but fail to
/// start. With a `links` key, their build scripts can query the rpath, so it is a fault only if none in the workspace
/// does, or if one that depends on this package does not. Also returns the files that the answer depends on.
pub fn find(env: &Environment, dir: &Path) -> Option<(Finding, Vec<PathBuf>)> {
    let package = Path::new(env.os_var("CARGO_MANIFEST_DIR")?);
    let name = env.var("CARGO_PKG_NAME")?;
    let manifest = files::read(&package.join("Cargo.toml")).ok()?;
    if has_program(package, &manifest) {
        return None;
    }
    let Some(links) = env.var("CARGO_MANIFEST_LINKS") else {
        return Some((Linked::without_links(name, dir), Vec::new()));
    };
    let root = workspace_root(package);
    let files = root.map_or_else(Vec::new, scripts_and_manifests);
    let (query, mut programs) = (Linked::query(links), Vec::new());
    let queries = |file: &PathBuf| files::read(file).is_ok_and(|text| text.contains(&query));
    if files.iter().any(queries) {
        for manifest in files.iter().filter(|file| file.ends_with("Cargo.toml")) {
            let Ok(text) = files::read(manifest) else {
                continue;
            };
            let package = manifest.with_file_name("");
            // A workspace within this one is not part of it, and a build script may have another name.
            let is_read = (Some(&*package) == root || !text.contains("[workspace]"))
                && !text.lines().any(|line| line.starts_with("build ="));
            let depends = is_read && depends_on(&text, name);
            if depends && has_program(&package, &text) && !queries(&package.join("build.rs")) {
                programs.push(manifest.clone());
            }
        }
        if programs.is_empty() {
            return None;
        }
    }
    Some((Linked::without_query(name, links, dir, &programs), files))
}

/// Returns `true` if linking this package produces a file that gets the rpath.
fn has_program(package: &Path, manifest: &str) -> bool {
    files::is_file(&package.join("src/main.rs"))
        || files::is_dir(&package.join("src/bin"))
        // A shared library, such as a Python extension, gets the rpath too.
        || ["[[bin]]", "dylib\""].iter().any(|words| manifest.contains(words))
}

/// Returns `true` if a manifest declares this dependency, not only for its build script or tests: `name = ..`,
/// `name.workspace = true` or `[dependencies.name]`.
fn depends_on(manifest: &str, name: &str) -> bool {
    let mut table = "";
    manifest.lines().map(str::trim).any(|line| {
        if let Some(header) = line.strip_prefix('[') {
            table = header.trim_end_matches(']');
        }
        let is_of_program = |table: &str| {
            table == "dependencies"
                || table.starts_with("target.") && table.ends_with(".dependencies")
        };
        let own = table
            .strip_suffix(name)
            .and_then(|table| table.strip_suffix('.'));
        let rest = line.strip_prefix(name).unwrap_or_default().trim_start();
        own.is_some_and(is_of_program) || is_of_program(table) && rest.starts_with(['=', '.'])
    })
}

/// Returns the directory of the workspace that a package is a member of.
fn workspace_root(package: &Path) -> Option<&Path> {
    let is_workspace = |dir: &&Path| {
        files::read(&dir.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
    };
    package.ancestors().take(4).find(is_workspace)
}

/// Returns the build scripts and manifests of a workspace.
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

#[cfg(test)]
mod tests {
    use super::depends_on;

    #[test]
    fn only_dependencies_of_the_program_count() {
        for (manifest, expected) in [
            ("[dependencies]\na-sys = \"1\"\n", true),
            ("[dependencies]\na-sys.workspace = true\n", true),
            ("[dependencies.a-sys]\npath = \"../a-sys\"\n", true),
            ("[target.'cfg(unix)'.dependencies]\na-sys = \"1\"\n", true),
            ("[dependencies]\na-system = \"1\"\n", false),
            ("[dev-dependencies]\na-sys = \"1\"\n", false),
            ("[build-dependencies.a-sys]\npath = \"../a-sys\"\n", false),
            ("[workspace.dependencies]\na-sys = \"1\"\n", false),
        ] {
            assert_eq!(depends_on(manifest, "a-sys"), expected, "{manifest}");
        }
    }
}
