//! Where the demo happens.

use super::sources;
use crate::consumer;
use std::env;
use std::path::{Path, PathBuf};

/// The directory that it happens in, and where the programs that it builds get cudnn-guard from.
pub struct Place {
    /// What is made lies below it.
    pub work: PathBuf,
    /// The clone of the repository, or what cargo unpacked to install from, if it is still there.
    pub repository: Option<&'static Path>,
}

impl Place {
    /// Finds it, unless it is named, and writes the sources there.
    pub fn make(named: Option<&PathBuf>) -> Result<Self, String> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
        let variable = |name: &str| env::var_os(name).map(PathBuf::from);
        let work = match named {
            Some(dir) => std::path::absolute(dir).map_err(|error| error.to_string())?,
            None => work_folder(repository, variable)?,
        };
        let place = Self {
            work,
            repository: repository
                .join("Cargo.toml")
                .is_file()
                .then_some(repository),
        };
        sources::write(&place.fixtures()).map_err(|error| {
            format!(
                "cannot write into `{}`: {error}\n  = help: name another directory: `--dir DIR`",
                place.work.display()
            )
        })?;
        Ok(place)
    }

    /// The sources that were written.
    pub fn fixtures(&self) -> PathBuf {
        self.work.join("fixtures")
    }

    /// What names cudnn-guard to cargo: its directory, or the release that this program is of.
    pub fn crate_source(&self) -> String {
        match self.repository {
            Some(repository) => consumer::by_path(repository),
            None => format!("version = \"={}\"", env!("CARGO_PKG_VERSION")),
        }
    }
}

/// A clone has a target folder to work in. What cargo unpacked to install from, a registry's package or a checkout of
/// its own, belongs to cargo and may be read-only: then it is the user's cache.
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

/// Whether a person cloned the repository there. cargo puts `.cargo-ok` beside whatever it unpacked itself.
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
