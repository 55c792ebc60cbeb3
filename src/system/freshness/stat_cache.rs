//! A cache of file metadata: many outputs are made of the same few hundred files.
//!
//! It is valid until a file may have changed. Then a new cache is created. Paths are compared as bytes, because
//! components and hashes of paths are slow in an unoptimized build script.
//!
//! The state of a file is one line: size, modification time, path, and the path with links resolved if it is another. A
//! different file behind a link may have the same size and modification time, because Nix gives all files the same time.
//! A file with the same state counts as unchanged.

use crate::runtime::facts::Fields;
use crate::system::files;
use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::OsString;
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
    before: RefCell<Vec<Rc<File>>>,
}

/// The results of the queries about one path.
#[derive(Default)]
struct Known {
    file: OnceCell<Option<Rc<File>>>,
    dir: OnceCell<Option<PathBuf>>,
}

/// An existing file or directory.
pub struct File {
    pub path: PathBuf,
    pub is_regular: bool,
    pub changed: SystemTime,
    /// The state, unless it cannot be encoded.
    pub state: Option<String>,
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
            (Some(dir), Some(name)) if !is_link => self.dir(&Path::new(".").join(dir))?.join(name),
            _ => files::canonical(path, None).ok()?,
        };
        let changed = data.modified().ok()?;
        Some(File {
            path: path.to_path_buf(),
            is_regular: data.is_file(),
            changed,
            state: state(path, &real, data.len(), changed),
            is_reported: Cell::new(false),
        })
    }

    /// Returns the files whose states are the first lines of this part of a stamp, or that had them before they changed.
    pub fn files(&self, described: &str) -> Option<Vec<Rc<File>>> {
        let before = self.before.take();
        let (mut place, mut files) = (0, Vec::new());
        for line in described.lines() {
            let Some(state) = line.strip_prefix("file ") else {
                break;
            };
            let next = before.get(place);
            let file = match next.filter(|next| next.state.as_deref() == Some(state)) {
                Some(next) => Rc::clone(next),
                None => {
                    let (_, path) = state.split_once(' ')?.1.split_once(' ')?;
                    let path = path.split('\t').next()?;
                    let file = self.file(Path::new(&String::decode(path)?))?;
                    let found = before.iter().position(|one| Rc::ptr_eq(one, &file));
                    place = found.unwrap_or(place);
                    file
                }
            };
            place += 1;
            files.push(file);
        }
        self.before.replace(files.clone());
        Some(files)
    }

    /// Resolves the links in a directory's path. A few directories contain hundreds of files.
    fn dir(&self, dir: &Path) -> Option<PathBuf> {
        let real = || files::canonical(dir, None).ok();
        self.known(dir).dir.get_or_init(real).clone()
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

fn state(path: &Path, real: &Path, size: u64, changed: SystemTime) -> Option<String> {
    let date = changed.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let encoded = path.to_str()?.to_string().encode();
    let mut state = format!("{size} {date} {encoded}");
    // Most paths contain no links. An encoded path contains no tab.
    if real.as_os_str() != path.as_os_str() {
        state += &format!("\t{real:?}");
    }
    Some(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_once() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-seen-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("a.h");
        let state = |seen: &StatCache| seen.file(&path).and_then(|file| file.state.clone());
        let before = StatCache::default();
        assert_eq!(state(&before), None);
        std::fs::write(&path, "a").unwrap();
        assert_eq!(state(&before), None, "the absence is cached");
        let after = StatCache::default();
        assert!(state(&after).is_some_and(|state| state.starts_with("1 ")));
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(state(&after).is_some(), "the content is cached");
    }
}
