//! Where the demo happens.

use crate::cli::simulation::consumer;
use std::env;
use std::path::{Path, PathBuf};

/// The directory of the consumers in it.
pub const CONSUMERS: &str = "consumers";

/// Finds the directory, unless it is named, and writes the consumers into it, ready to be built. They get cudnn-guard from
/// the clone of the repository or what cargo unpacked to install from, if that is still there, else by its release.
pub fn make(named: Option<&PathBuf>) -> Result<PathBuf, String> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let variable = |name: &str| env::var_os(name).map(PathBuf::from);
    let work = match named {
        Some(dir) => std::path::absolute(dir).map_err(|error| error.to_string())?,
        None => work_folder(repository, variable)?,
    };
    let consumers = work.join(CONSUMERS);
    let stage = |source: &str| consumer::stage(source, &consumers, &str::to_string);
    let written = match repository.join("Cargo.toml").is_file() {
        true => stage(&consumer::by_path(repository))
            .and_then(|()| consumer::lock(repository, &consumers)),
        false => stage(&format!("version = \"={}\"", env!("CARGO_PKG_VERSION"))),
    };
    match written {
        Ok(()) => Ok(work),
        Err(error) => Err(format!(
            "cannot write into `{}`: {error}\n  = help: name another directory: `--dir DIR`",
            work.display()
        )),
    }
}

/// Returns the directory to work in by default. A clone has a target directory. What cargo unpacked to install from, a
/// registry's package or a checkout of its own, belongs to cargo and may be read-only: then it is the user's cache.
fn work_folder(
    repository: &Path,
    variable: impl Fn(&str) -> Option<PathBuf>,
) -> Result<PathBuf, String> {
    if is_clone(repository) {
        return Ok(repository.join("target/demo"));
    }
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("LOCALAPPDATA"))
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("cudnn-guard/demo"))
        .ok_or_else(|| {
            "there is no folder to work in: neither XDG_CACHE_HOME nor HOME is set".into()
        })
}

/// Returns `true` if a person cloned the repository there. cargo puts `.cargo-ok` beside what it unpacked itself.
pub fn is_clone(repository: &Path) -> bool {
    repository.join(".git").exists() && !repository.join(".cargo-ok").exists()
}

#[cfg(test)]
mod tests {
    use super::work_folder;
    use std::fs;
    use std::path::{Path, PathBuf};

    #[test]
    fn what_cargo_unpacked_is_left_alone() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-demo-{}", std::process::id()));
        let package = |name: &str, marks: &[&str]| {
            let package = dir.join(name);
            fs::create_dir_all(&package).unwrap();
            for mark in marks {
                fs::write(package.join(mark), "").unwrap();
            }
            package
        };
        let home = |name: &str| (name == "HOME").then(|| PathBuf::from("/home/me"));
        let clone = package("clone", &[".git"]);
        let place = work_folder(&clone, home).unwrap();
        assert_eq!(place, clone.join("target/demo"));
        // Of `cargo install cudnn-guard`, `cargo install --git` and `cargo vendor`.
        for (name, marks) in [
            ("registry", &[".cargo-ok"][..]),
            ("checkout", &[".git", ".cargo-ok"]),
            ("vendored", &[]),
        ] {
            let place = work_folder(&package(name, marks), home).unwrap();
            assert_eq!(
                place,
                Path::new("/home/me/.cache/cudnn-guard/demo"),
                "{name}"
            );
        }
        let vendored = package("vendored", &[]);
        let cache = |name: &str| match name {
            "XDG_CACHE_HOME" => Some(PathBuf::from("/var/cache/me")),
            name => home(name),
        };
        let place = work_folder(&vendored, cache).unwrap();
        assert_eq!(place, Path::new("/var/cache/me/cudnn-guard/demo"));
        assert!(work_folder(&vendored, |_| None).is_err());
        fs::remove_dir_all(&dir).unwrap();
    }
}
