//! A cache of file metadata: many outputs are made of the same few hundred files.
//!
//! It is valid until a file may have changed. Then a new cache is created. Paths are compared as bytes, because
//! components and hashes of paths are slow in an unoptimized build script.
//!
//! The state of a file is one line: size, modification time and path. A file with the same state counts as unchanged.

use crate::runtime::facts::Fields;
use crate::system::files;
use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::OsString;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The minimum age of a file when it is read. A newer file may have changed again, because file systems store times
/// with limited resolution.
pub const DOUBT: Duration = Duration::from_millis(50);

/// The results of all queries so far, including failed ones.
#[derive(Default)]
pub struct StatCache {
    /// Sorted by path.
    known: RefCell<Vec<(OsString, Rc<Known>)>>,
    /// The files of the previous artifact. Most artifacts are made of the same headers, in the same order.
    pub before: RefCell<Vec<Rc<File>>>,
}

/// The results of the queries about one path.
#[derive(Default)]
struct Known {
    file: OnceCell<Option<Rc<File>>>,
    dir: OnceCell<Option<PathBuf>>,
    names: OnceCell<Rc<Vec<OsString>>>,
}

/// An existing file or directory.
pub struct File {
    pub path: PathBuf,
    pub is_regular: bool,
    pub changed: SystemTime,
    /// The state, which is a line in a stamp.
    pub line: Option<String>,
    /// The path with links resolved. A different file behind a link may have the same size and modification time,
    /// because Nix gives all files the same time.
    pub real: PathBuf,
    /// A hash of `line` and `real`.
    pub hash: u64,
    /// `true` once a `rerun-if-changed` line was printed for it.
    pub is_reported: Cell<bool>,
}

impl StatCache {
    /// Returns the file or directory at this path.
    pub fn file(&self, path: &Path) -> Option<Rc<File>> {
        let look = || self.look(path).map(Rc::new);
        self.known(path).file.get_or_init(look).clone()
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
        let line = line(&data, path);
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        // Most paths contain no links. Then the line is sufficient.
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
            is_reported: Cell::new(false),
        })
    }

    /// Resolves the links in a directory's path. A few directories contain hundreds of files.
    pub fn dir(&self, dir: &Path) -> Option<PathBuf> {
        let real = || files::canonical(dir, None).ok();
        self.known(dir).dir.get_or_init(real).clone()
    }

    /// Returns the sorted file names in a directory.
    pub fn names(&self, dir: &Path) -> Rc<Vec<OsString>> {
        let list = || Rc::new(files::names(dir).unwrap_or_default());
        Rc::clone(self.known(dir).names.get_or_init(list))
    }

    fn known(&self, path: &Path) -> Rc<Known> {
        let path = path.as_os_str();
        let mut all = self.known.borrow_mut();
        let place = all.partition_point(|(known, _)| known.as_os_str() < path);
        if all.get(place).is_none_or(|(known, _)| known != path) {
            all.insert(place, (path.to_os_string(), Rc::default()));
        }
        Rc::clone(&all[place].1)
    }
}

/// Returns the path in a state.
pub fn path(line: &str) -> Option<PathBuf> {
    String::decode(line.splitn(3, ' ').nth(2)?).map(PathBuf::from)
}

pub fn read(path: &Path) -> Option<String> {
    line(&std::fs::metadata(path).ok()?, path)
}

/// Returns the state of a file with this metadata.
pub fn line(data: &Metadata, path: &Path) -> Option<String> {
    let date = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let path = path.to_str()?.to_string().encode();
    Some(format!("{} {} {path}", data.len(), date.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_once() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-seen-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("a.h");
        let state = |seen: &StatCache| seen.file(&path).and_then(|file| file.line.clone());
        let before = StatCache::default();
        assert_eq!(state(&before), None);
        std::fs::write(&path, "a").unwrap();
        assert_eq!(state(&before), None, "the absence is cached");
        let after = StatCache::default();
        assert_eq!(state(&after), read(&path));
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(state(&after).is_some(), "the content is cached");
    }
}
