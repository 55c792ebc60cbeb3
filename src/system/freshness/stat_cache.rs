//! Files as one look sees them: many things are made of the same few hundred, and each is asked for once.
//!
//! It holds until something may have changed them; then there is a new one. Paths are compared as they are written:
//! their parts, and hashes of them, are slow in a build script, which nobody optimizes.

use crate::system::files;
use crate::system::freshness::fingerprint;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

/// All that was asked for so far, and what is not there.
#[derive(Default)]
pub struct StatCache {
    known: RefCell<BTreeMap<OsString, Known>>,
    /// What the artifact before was made of: most are made of the same headers, in the same order.
    pub before: RefCell<Vec<Rc<File>>>,
}

/// What was asked for of one path; the inner is none where it is not there.
#[derive(Clone, Default)]
struct Known {
    file: Option<Option<Rc<File>>>,
    dir: Option<Option<PathBuf>>,
    names: Option<Rc<Vec<OsString>>>,
}

/// Something that is there.
pub struct File {
    /// As it was asked for.
    pub path: PathBuf,
    /// Whether it is a regular file.
    pub is_regular: bool,
    /// When it changed.
    pub changed: SystemTime,
    /// Its line in a stamp.
    pub line: Option<String>,
    /// Where it is, links followed. Another file behind a link may have the size and the date of the first: Nix gives
    /// all files one date.
    pub real: PathBuf,
    /// A hash of its line and of where it is.
    pub hash: u64,
    /// Whether cargo was told of it.
    pub is_told: Cell<bool>,
}

impl StatCache {
    /// What there is under this path.
    pub fn file(&self, path: &Path) -> Option<Rc<File>> {
        if let Some(file) = self.known(path, |known| known.file.clone()) {
            return file;
        }
        let file = self.look(path).map(Rc::new);
        self.note(path, |known| known.file = Some(file.clone()));
        file
    }

    fn look(&self, path: &Path) -> Option<File> {
        let mut data = std::fs::symlink_metadata(path).ok()?;
        let is_link = data.is_symlink();
        if is_link {
            data = std::fs::metadata(path).ok()?;
        }
        let real = match (path.parent(), path.file_name()) {
            // The parent of `a.cu` is the empty path.
            (Some(dir), Some(name)) if !is_link => match dir.as_os_str().is_empty() {
                true => self.dir(Path::new("."))?.join(name),
                false => self.dir(dir)?.join(name),
            },
            _ => files::canonical(path, None).ok()?,
        };
        let line = fingerprint::line(&data, path);
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        // Most are where they are said to be, which the line tells.
        if real.as_os_str() != path.as_os_str() {
            real.as_os_str().hash(&mut hasher);
        }
        Some(File {
            path: path.to_path_buf(),
            is_regular: data.is_file(),
            changed: data.modified().ok()?,
            line,
            real,
            hash: hasher.finish(),
            is_told: Cell::new(false),
        })
    }

    /// Where a directory is, links followed. There are hundreds of files in a few.
    pub fn dir(&self, dir: &Path) -> Option<PathBuf> {
        if let Some(real) = self.known(dir, |known| known.dir.clone()) {
            return real;
        }
        let real = files::canonical(dir, None).ok();
        self.note(dir, |known| known.dir = Some(real.clone()));
        real
    }

    /// What a directory holds, in the order of the names.
    pub fn names(&self, dir: &Path) -> Rc<Vec<OsString>> {
        if let Some(names) = self.known(dir, |known| known.names.clone()) {
            return names;
        }
        let listed = files::list(dir).unwrap_or_default();
        let names = listed
            .iter()
            .filter_map(|path| Some(path.file_name()?.to_os_string()));
        let listed = Rc::new(names.collect());
        self.note(dir, |known| known.names = Some(Rc::clone(&listed)));
        listed
    }

    fn known<T>(&self, path: &Path, of: impl Fn(&Known) -> Option<T>) -> Option<T> {
        self.known.borrow().get(path.as_os_str()).and_then(of)
    }

    fn note(&self, path: &Path, note: impl FnOnce(&mut Known)) {
        let mut known = self.known.borrow_mut();
        note(known.entry(path.as_os_str().to_os_string()).or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_asked_for_once() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-seen-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("a.h");
        let line = |seen: &StatCache| seen.file(&path).and_then(|file| file.line.clone());
        let before = StatCache::default();
        assert_eq!(line(&before), None);
        std::fs::write(&path, "a").unwrap();
        assert_eq!(line(&before), None, "it was not there");
        let after = StatCache::default();
        assert_eq!(line(&after), fingerprint::read(&path));
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(line(&after).is_some(), "it was there");
    }
}
