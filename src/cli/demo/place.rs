//! The directory of the demo.

use crate::cli::simulation::consumer;
use std::env;
use std::path::{Path, PathBuf};

pub const CONSUMERS: &str = "consumers";

/// Creates the directory and writes the consumers into it. They use the cudnn-guard in the repository's clone or in
/// cargo's unpacked sources, if these still exist, else the published version.
pub fn make(named: Option<&PathBuf>) -> Result<PathBuf, String> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let variable = |name: &str| env::var_os(name).map(PathBuf::from);
    let work = match named {
        Some(dir) => std::path::absolute(dir).map_err(|error| error.to_string())?,
        None => work_folder(repository, variable)?,
    };
    let consumers = work.join(CONSUMERS);
    let stage = |source: &str| consumer::stage(source, &consumers);
    let written = match repository.join("Cargo.toml").is_file() {
        true => stage(&consumer::by_path(repository))
            .and_then(|()| consumer::lock(repository, &consumers)),
        false => stage(&format!("version = \"={}\"", env!("CARGO_PKG_VERSION"))),
    };
    match written {
        Ok(()) => Ok(work),
        Err(error) => Err(format!(
            "cannot write to `{}`: {error}\n  = help: choose another directory with `--dir DIR`",
            work.display()
        )),
    }
}

/// Returns the default directory. In a clone, it is below cargo's target directory. Cargo's unpacked sources may be
/// read-only, so the directory is in the user's cache then.
fn work_folder(
    repository: &Path,
    variable: impl Fn(&str) -> Option<PathBuf>,
) -> Result<PathBuf, String> {
    if is_clone(repository) {
        let target = variable("CARGO_TARGET_DIR").unwrap_or_else(|| repository.join("target"));
        return std::path::absolute(target.join("demo")).map_err(|error| error.to_string());
    }
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("LOCALAPPDATA"))
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("cudnn-guard/demo"))
        .ok_or_else(|| "no working directory: neither XDG_CACHE_HOME nor HOME is set".into())
}

/// Returns `true` if the repository was cloned by the user. cargo puts `.cargo-ok` beside sources that it unpacked.
pub fn is_clone(repository: &Path) -> bool {
    repository.join(".git").exists() && !repository.join(".cargo-ok").exists()
}

#[cfg(test)]
mod tests {
    use super::work_folder;
    use std::fs;
    use std::path::{Path, PathBuf};

    #[test]
    fn sources_that_cargo_unpacked_are_not_a_clone() {
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
        let target = |name: &str| (name == "CARGO_TARGET_DIR").then(|| "/build/target".into());
        let place = work_folder(&clone, target).unwrap();
        assert_eq!(place, Path::new("/build/target/demo"));
        // Sources of `cargo install cudnn-guard`, `cargo install --git` and `cargo vendor`.
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
