//! Access to paths, optionally below a root.

use crate::model::{Obstacle, newest_first};
use crate::runtime::system;
use crate::system::files;
use std::io;
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
        real_path(path, self.root).unwrap_or_else(|_| path.to_path_buf())
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
            let starts = |text: &&str| text.as_bytes().first().is_some_and(u8::is_ascii_digit);
            if let Some(version) = version.filter(starts) {
                let mut numbers = files::numeric_order(version);
                numbers.retain(|number| *number < files::CHARACTERS);
                found.push((numbers, dir.join(&name)));
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
        let inside = real_path(path, self.root).ok()?;
        let [real, same] = [path, &inside].map(|path| real_path(path, None).ok());
        let stays = real.is_some() && real == same;
        Some(if stays { path.into() } else { inside })
    }
}

/// Like [`files::canonical`], but with a cheap error, for many paths of which most do not exist.
pub(super) fn real_path(path: &Path, root: Option<&Path>) -> io::Result<PathBuf> {
    system::canonical(path, root).map(plain)
}

/// Converts `\\?\C:\dir`, which Windows returns and linkers, nvcc and host compilers do not accept, to `C:\dir`, if it
/// is short enough for them.
fn plain(path: PathBuf) -> PathBuf {
    const LONGEST: usize = 259;
    let Some(rest) = path.to_str().and_then(|text| text.strip_prefix(r"\\?\")) else {
        return path;
    };
    let plain = match rest.strip_prefix(r"UNC\") {
        Some(share) => format!(r"\\{share}"),
        None if rest.as_bytes().get(1) == Some(&b':') => rest.to_string(),
        None => return path,
    };
    if plain.encode_utf16().count() > LONGEST {
        return path;
    }
    plain.into()
}

/// The number of versions side by side that are searched. Each has many files.
const MOST_VERSIONS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use crate::system::files::canonical;

    #[test]
    fn a_windows_path_is_accepted_by_compilers() {
        let long = format!(r"\\?\C:\{}", "d".repeat(260));
        for (given, expected) in [
            (r"\\?\C:\Program Files\CUDA", r"C:\Program Files\CUDA"),
            (r"\\?\UNC\server\share\CUDA", r"\\server\share\CUDA"),
            (r"\\?\Volume{1-2}\CUDA", r"\\?\Volume{1-2}\CUDA"),
            ("/usr/local/cuda", "/usr/local/cuda"),
            (&long, &long),
        ] {
            assert_eq!(plain(given.into()).to_str(), Some(expected));
        }
    }

    #[test]
    #[cfg(unix)]
    fn an_absolute_link_stays_inside_the_root() {
        use std::os::unix::fs::symlink;
        let root = std::env::temp_dir().join(format!("cudnn-guard-inside-{}", std::process::id()));
        std::fs::create_dir_all(root.join("usr/local/cuda-12.10/include")).unwrap();
        std::fs::write(root.join("usr/local/cuda-12.10/include/cuda.h"), "").unwrap();
        std::fs::create_dir_all(root.join("etc/alternatives")).unwrap();
        symlink("/usr/local/cuda-12.10", root.join("etc/alternatives/cuda")).unwrap();
        symlink("/etc/alternatives/cuda", root.join("usr/local/cuda")).unwrap();
        symlink(
            "../../../../../../etc/alternatives/cuda",
            root.join("usr/local/up"),
        )
        .unwrap();
        symlink("/usr/local/loop", root.join("usr/local/loop")).unwrap();
        let real = root.join("usr/local/cuda-12.10/include/cuda.h");
        for link in ["cuda", "up"] {
            let path = root.join("usr/local").join(link).join("include/cuda.h");
            assert_eq!(canonical(&path, Some(&root)).unwrap(), real);
        }
        let looped = canonical(&root.join("usr/local/loop"), Some(&root)).unwrap_err();
        assert_eq!(
            looped.evidence,
            [("reason", "too many symlinks".to_string())]
        );
        std::fs::remove_dir_all(&root).unwrap();
    }
}
