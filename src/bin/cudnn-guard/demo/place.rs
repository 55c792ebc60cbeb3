//! Where the demo happens.

use std::env;
use std::path::{Path, PathBuf};

/// The sources, and the directory for what is made of them.
pub struct Place {
    /// The clone of the repository, or what cargo unpacked to install from.
    pub repository: &'static Path,
    /// What is made lies below it.
    pub work: PathBuf,
}

impl Place {
    /// Finds it.
    pub fn find() -> Result<Self, String> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
        if !repository.join("fixtures/consumers").is_dir() {
            return Err(format!(
                "`{}` is not there any more: run `cargo demo` in a clone of the repository",
                repository.join("fixtures/consumers").display()
            ));
        }
        let variable = |name: &str| env::var_os(name).map(PathBuf::from);
        Ok(Self {
            repository,
            work: work_folder(repository, variable)?,
        })
    }

    /// Those of the simulator.
    pub fn sources(&self) -> PathBuf {
        self.repository.join("fixtures/simulator")
    }
}

/// A clone has a target folder to work in. What cargo unpacked to install from, a registry's package or a checkout of
/// its own, belongs to cargo and may be read-only: then it is the user's cache.
fn work_folder(
    repository: &Path,
    variable: impl Fn(&str) -> Option<PathBuf>,
) -> Result<PathBuf, String> {
    // cargo puts `.cargo-ok` beside whatever it unpacked.
    if repository.join(".git").exists() && !repository.join(".cargo-ok").exists() {
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
