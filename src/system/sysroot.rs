//! Looking at paths, below a root where there is one.

use crate::model::obstacle::Obstacle;
use crate::model::text::newest_first;
use crate::system::files;
use std::path::{Path, PathBuf};

/// Sees files and directories. With a root, the links of an image lead to places of that image.
#[derive(Clone, Copy, Debug)]
pub struct Sysroot<'a> {
    /// The image's root, for a fixed place.
    pub root: Option<&'a Path>,
}

impl Sysroot<'_> {
    /// The path to read, if this is a regular file.
    pub fn file(self, path: &Path) -> Option<PathBuf> {
        self.reach(path).filter(|path| files::is_file(path))
    }

    /// The path to use, if this is a directory.
    pub fn dir(self, path: &Path) -> Option<PathBuf> {
        self.reach(path).filter(|path| files::is_dir(path))
    }

    /// Why what is there cannot be used, if something is there.
    pub fn obstacle(self, path: &Path) -> Option<Obstacle> {
        files::obstacle(path, self.root.filter(|root| path.starts_with(root)))
    }

    /// The path without links.
    pub fn canonical(self, path: &Path) -> PathBuf {
        files::real_path(path, self.root).unwrap_or_else(|_| path.to_path_buf())
    }

    /// The directories that a pattern stands for: of each `#`, a release number, the highest first.
    pub fn expand(self, base: &Path, pattern: &str) -> Vec<PathBuf> {
        let mut found = vec![base.to_path_buf()];
        let mut parts = pattern
            .split('/')
            .filter(|part| !part.is_empty())
            .peekable();
        while let Some(part) = parts.next() {
            // Some Pythons keep their packages in a `lib64` that is no link to `lib`.
            let is_python = part == "lib" && parts.peek() == Some(&"python#");
            found = match part.strip_suffix('#') {
                None if is_python => each(&found, |dir| {
                    let mut dirs = vec![dir.join("lib"), dir.join("lib64")];
                    dirs.retain(|dir| dir.ends_with("lib") || !files::is_link(dir));
                    dirs
                }),
                None => each(&found, |dir| vec![dir.join(part)]),
                Some(prefix) => each(&found, |dir| self.numbered(dir, prefix)),
            };
        }
        found
    }

    fn numbered(self, dir: &Path, prefix: &str) -> Vec<PathBuf> {
        let Some(dir) = self.reach(dir) else {
            return Vec::new();
        };
        let entries = files::list(&dir).unwrap_or_default();
        let found = entries.into_iter().filter_map(|path| {
            let release = numbers(path.file_name()?.to_str()?.strip_prefix(prefix)?)?;
            Some((release, path.into_os_string()))
        });
        newest_first(found.collect()).map(PathBuf::from).collect()
    }

    /// The path as it stands, or where its links lead inside the root if the system would follow them out of it.
    fn reach(self, path: &Path) -> Option<PathBuf> {
        if self.root.is_none() {
            return Some(path.to_path_buf());
        }
        let inside = files::real_path(path, self.root).ok()?;
        // Without a link there is nothing that leads out.
        if inside == path {
            return Some(inside);
        }
        match std::fs::canonicalize(path) {
            Ok(real) if std::fs::canonicalize(&inside).is_ok_and(|inside| inside == real) => {
                Some(path.to_path_buf())
            }
            _ => Some(inside),
        }
    }
}

/// All that comes of each of these directories.
fn each(dirs: &[PathBuf], of: impl Fn(&Path) -> Vec<PathBuf>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for dir in dirs {
        found.extend(of(dir));
    }
    found
}

/// The numbers of `12.10`; `3.13t` counts as 3.13. None if it does not begin with one.
fn numbers(text: &str) -> Option<Vec<u32>> {
    text.starts_with(|first: char| first.is_ascii_digit())
        .then(|| {
            let parts = text.split(|letter: char| !letter.is_ascii_digit());
            parts.filter_map(|part| part.parse().ok()).collect()
        })
}
