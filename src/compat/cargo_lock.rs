//! The `Cargo.lock` of the build, and its packages.

use crate::model::Environment;
use crate::system::files;
use std::path::{Path, PathBuf};

/// Files that cargo creates beside the manifest of an unpacked package. The lock file of such a package is its
/// author's.
const UNPACKED: [&str; 2] = [".cargo-ok", ".cargo-checksum.json"];

/// Returns the path and text of the lock file. cargo does not report its path, so it is searched above the output
/// directory, which is beside it by default, then above the manifest. A lock file without the package that is being
/// built is ignored.
pub fn find(env: &Environment) -> Option<(PathBuf, String)> {
    let (name, version) = (env.var("CARGO_PKG_NAME")?, env.var("CARGO_PKG_VERSION")?);
    let out_dir = env.os_var("OUT_DIR").map(Path::new);
    let manifest = env.os_var("CARGO_MANIFEST_DIR").map(Path::new);
    let own = manifest.filter(|dir| !UNPACKED.iter().any(|mark| files::exists(&dir.join(mark))));
    for start in [out_dir, own].into_iter().flatten() {
        for dir in start.ancestors() {
            let file = dir.join("Cargo.lock");
            let text = files::read(&file).unwrap_or_default();
            if contains(&text, name, version) {
                return Some((file, text));
            }
        }
    }
    None
}

/// Returns the contents of one of cargo's files in the current directory and, for a package, in each directory above.
#[cfg(feature = "cli")]
pub fn texts<'a>(env: &'a Environment, file: &'a str) -> impl Iterator<Item = String> + 'a {
    let own = env.directory();
    let is_package = files::is_file(&own.join("Cargo.toml"));
    let dirs = own.ancestors();
    let dirs = dirs.take_while(move |dir| is_package || *dir == own);
    dirs.filter_map(move |dir| files::read(&dir.join(file)).ok())
}

pub fn contains(lock: &str, name: &str, version: &str) -> bool {
    let is_same = |package: &Package| (package.name, package.version) == (name, version);
    packages(lock).iter().any(is_same)
}

pub struct Package<'a> {
    pub name: &'a str,
    pub version: &'a str,
    pub is_published: bool,
}

/// Parses the packages of a `Cargo.lock`. Each entry starts with the name and the version.
pub fn packages(lock: &str) -> Vec<Package<'_>> {
    let mut packages = Vec::new();
    for package in lock.split("[[package]]").skip(1) {
        let mut lines = package.trim_start().lines();
        let mut value = |key| lines.next()?.strip_prefix(key)?.strip_suffix('"');
        if let (Some(name), Some(version)) = (value("name = \""), value("version = \"")) {
            let is_published = lines.any(|line| line.starts_with("source = \"registry+"));
            packages.push(Package {
                name,
                version,
                is_published,
            });
        }
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::fs;

    /// Writes a lock file that contains only this package.
    fn lock(at: &Path, package: &str) {
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let text =
            format!("version = 4\n\n[[package]]\nname = \"{package}\"\nversion = \"0.1.0\"\n");
        fs::write(at, text).unwrap();
    }

    #[test]
    fn the_lock_of_a_package() {
        let lock = "version = 4\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\ndependencies = [\n \"cudarc\",\n]\n\n\
            [[package]]\nname = \"cudarc\"\nversion = \"0.18.2\"\nsource = \"registry+https://example.org\"\n";
        assert!(contains(lock, "app", "0.1.0"));
        assert!(!contains(lock, "app", "0.1.1"));
        assert!(!contains(lock, "registry", "0.18.2"));
    }

    #[test]
    fn the_lock_of_the_package_being_built() {
        let top = std::env::temp_dir().join(format!("cudnn-guard-lock-{}", std::process::id()));
        let found = |out_dir: &str, manifest: &str| {
            let text = |value: &str| OsString::from(value);
            let env = Environment::new([
                ("CARGO_PKG_NAME".to_string(), text("app")),
                ("CARGO_PKG_VERSION".to_string(), text("0.1.0")),
                ("OUT_DIR".to_string(), top.join(out_dir).into()),
                ("CARGO_MANIFEST_DIR".to_string(), top.join(manifest).into()),
            ]);
            let file = find(&env)?.0;
            Some(file.strip_prefix(&top).unwrap().display().to_string())
        };
        lock(&top.join("work/Cargo.lock"), "app");
        let inside = "work/target/debug/build/app-1/out";
        let of_work = Some("work/Cargo.lock".to_string());
        assert_eq!(found(inside, "work/crates/app"), of_work);
        // A target directory elsewhere, even in another workspace.
        lock(&top.join("other/Cargo.lock"), "other");
        let outside = "other/target/debug/build/app-1/out";
        assert_eq!(found(outside, "work/crates/app"), of_work);
        // A crate with its own lock file, which cargo ignores.
        lock(&top.join("work/crates/app/Cargo.lock"), "app");
        assert_eq!(found(inside, "work/crates/app"), of_work);
        lock(&top.join("registry/app-0.1.0/Cargo.lock"), "app");
        let own = Some("registry/app-0.1.0/Cargo.lock".to_string());
        assert_eq!(found(outside, "registry/app-0.1.0"), own);
        fs::write(top.join("registry/app-0.1.0/.cargo-ok"), "").unwrap();
        assert_eq!(found(outside, "registry/app-0.1.0"), None);
        assert_eq!(found(inside, "registry/app-0.1.0"), of_work);
        fs::remove_dir_all(top).unwrap();
    }
}
