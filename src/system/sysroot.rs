//! Access to paths, optionally below a root.

use crate::model::{Obstacle, newest_first};
use crate::system::files;
use std::path::{Path, PathBuf};

/// A view of files and directories. With a root, absolute links are relative to the root.
#[derive(Clone, Copy, Default)]
pub struct Sysroot<'a> {
    pub root: Option<&'a Path>,
}

impl Sysroot<'_> {
    /// Returns the path on this machine of an absolute path of the system. A path below the root is returned unchanged.
    pub fn at(self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        match self.root {
            Some(root) if !path.starts_with(root) => {
                root.join(path.strip_prefix("/").unwrap_or(path))
            }
            _ => path.to_path_buf(),
        }
    }

    /// Returns the path to read, if it is a regular file.
    pub fn file(self, path: &Path) -> Option<PathBuf> {
        self.reach(path).filter(|path| files::is_file(path))
    }

    /// Returns the path to use, if it is a directory.
    pub fn dir(self, path: &Path) -> Option<PathBuf> {
        self.reach(path).filter(|path| files::is_dir(path))
    }

    /// Returns the reason why an existing path cannot be used.
    pub fn obstacle(self, path: &Path) -> Option<Obstacle> {
        files::obstacle(path, self.root.filter(|root| path.starts_with(root)))
    }

    /// Returns a path below the root as it is named in the image.
    pub fn inside(self, path: &Path) -> PathBuf {
        let inside = self.root.and_then(|root| path.strip_prefix(root).ok());
        inside.map_or_else(|| path.into(), |inside| Path::new("/").join(inside))
    }

    /// Resolves the links in a path.
    pub fn canonical(self, path: &Path) -> PathBuf {
        files::real_path(path, self.root).unwrap_or_else(|_| path.to_path_buf())
    }

    /// Expands a pattern, in which `#` matches a version, to directories, the highest version first.
    pub fn expand(self, base: &Path, pattern: &str) -> Vec<PathBuf> {
        let mut found = vec![base.to_path_buf()];
        let mut left = pattern;
        while !left.is_empty() {
            let (part, rest) = left.split_once('/').unwrap_or((left, ""));
            left = rest;
            if part.is_empty() {
                continue;
            }
            // Some Pythons have packages in a `lib64` that is not a link to `lib`.
            let is_python = part == "lib" && rest.split('/').next() == Some("python#");
            let mut below = Vec::new();
            for dir in found {
                match part.strip_suffix('#') {
                    Some(prefix) => below.append(&mut self.numbered(&dir, prefix)),
                    None => below.push(dir.join(part)),
                }
                let lib64 = dir.join("lib64");
                if is_python && !files::is_link(&lib64) {
                    below.push(lib64);
                }
            }
            found = below;
        }
        found
    }

    fn numbered(self, dir: &Path, prefix: &str) -> Vec<PathBuf> {
        let Some(dir) = self.reach(dir) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for name in files::names(&dir).unwrap_or_default() {
            let version = name.to_str().and_then(|name| name.strip_prefix(prefix));
            if let Some(numbers) = version.and_then(numbers) {
                found.push((numbers, dir.join(name)));
            }
        }
        let mut newest = newest_first(found);
        newest.truncate(MOST_VERSIONS);
        newest
    }

    /// Returns the path unchanged, or resolved inside the root if the system would follow its links out of the root.
    fn reach(self, path: &Path) -> Option<PathBuf> {
        if self.root.is_none() {
            return Some(path.to_path_buf());
        }
        let inside = files::real_path(path, self.root).ok()?;
        // A path without links cannot leave the root.
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

/// The number of versions side by side that are searched. Each has many files.
const MOST_VERSIONS: usize = 256;

/// Parses the numbers of `12.10`. `3.13t` counts as 3.13. Returns `None` if the text does not start with a number.
fn numbers(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    let is_separator: fn(char) -> bool = |letter| !letter.is_ascii_digit();
    for part in text.split(is_separator) {
        if let Ok(number) = part.parse() {
            numbers.push(number);
        }
    }
    text.as_bytes().first()?.is_ascii_digit().then_some(numbers)
}
