//! A cache of file metadata: many outputs are made of the same few hundred files.
//!
//! It is valid until a file may have changed. Then a new cache is created. Paths are compared as bytes, because
//! components and hashes of paths are slow in an unoptimized build script.
//!
//! The state of a file is one line: size, modification time, path, and the path with links resolved if it is another. A
//! different file behind a link may have the same size and modification time, because Nix gives all files the same time.
//! A file with the same state counts as unchanged, as does a file with another time but the same hash.

use crate::runtime::facts::Fields;
use crate::system::files;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The minimum age of a file when it is read. A newer file may have changed again, because file systems store times
/// with limited resolution.
pub const DOUBT: Duration = Duration::from_millis(50);

/// The hash for each state. Many outputs are made of the same headers, in many threads.
static HASHES: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

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

impl File {
    /// Returns the line of a stamp for this file.
    pub fn line(&self, is_hashed: bool) -> Option<String> {
        let hash = is_hashed.then(|| self.hash()).flatten();
        let hash = hash.unwrap_or_else(|| "-".to_string());
        Some(format!("file {hash} {}\n", self.state.as_ref()?))
    }

    /// Returns the hash of the content, unless the file is very large, or may have changed since its state was read.
    pub fn hash(&self) -> Option<String> {
        let known = || HASHES.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.state.as_ref()?;
        if let Some(hash) = known().get(state) {
            return Some(hash.clone());
        }
        let is_settled = self.changed + DOUBT < SystemTime::now();
        let bytes = files::bytes(self.is_regular.then_some(&self.path)?).ok()?;
        let now = std::fs::metadata(&self.path).ok()?;
        let is_same = now.len() == bytes.len() as u64 && now.modified().ok()? == self.changed;
        let hash = (is_settled && is_same).then(|| hash(&bytes))?;
        known().insert(state.clone(), hash.clone());
        Some(hash)
    }
}

/// Returns a hash of 128 bits, which two contents do not share by chance. A search for two such contents is pointless:
/// who writes the files also decides what is compiled. The standard library contains SipHash optimized, unlike code of a
/// build script. If another version of Rust has another hash, files are only compiled again.
pub fn hash(bytes: &[u8]) -> String {
    let mut hash = String::new();
    for half in 0..2 {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(half);
        hasher.write(bytes);
        hash += &format!("{:016x}", hasher.finish());
    }
    hash
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

    /// Returns the files in these lines of a stamp and the lines with their times now, unless a file has changed.
    pub fn unchanged(&self, lines: &str) -> Option<(Vec<Rc<File>>, String)> {
        let before = self.before.take();
        let (mut place, mut files, mut now) = (0, Vec::new(), String::new());
        for line in lines.split_inclusive('\n') {
            let line = line.strip_prefix("file ")?.strip_suffix('\n')?;
            let (hash, state) = line.split_once(' ')?;
            let next = before.get(place);
            let file = match next.filter(|next| next.state.as_deref() == Some(state)) {
                Some(next) => Rc::clone(next),
                None => {
                    let path = without_time(state)?.1.split('\t').next()?;
                    let file = self.file(Path::new(&String::decode(path)?))?;
                    let found = before.iter().position(|one| Rc::ptr_eq(one, &file));
                    place = found.unwrap_or(place);
                    file
                }
            };
            let current = file.state.as_deref()?;
            if current != state {
                let is_same = hash != "-" && without_time(current) == without_time(state);
                let now = if is_same { file.hash() } else { None };
                now.filter(|now| now == hash)?;
            }
            now += &format!("file {hash} {current}\n");
            place += 1;
            files.push(file);
        }
        self.before.replace(files.clone());
        Some((files, now))
    }

    /// Returns `true` if a directory that comes earlier than that of this header also has it. A directory may be inside
    /// another one of the list.
    pub fn is_shadowed(&self, header: &Path, dirs: &[PathBuf]) -> bool {
        let bytes = header.as_os_str().as_encoded_bytes();
        for (place, dir) in dirs.iter().enumerate() {
            if bytes.starts_with(dir.as_os_str().as_encoded_bytes()) {
                if let Ok(name) = header.strip_prefix(dir) {
                    let mut earlier = dirs[..place].iter();
                    if earlier.any(|dir| self.file(&dir.join(name)).is_some()) {
                        return true;
                    }
                }
            }
        }
        false
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

/// Returns the size in a state, and the paths.
fn without_time(state: &str) -> Option<(&str, &str)> {
    let (size, rest) = state.split_once(' ')?;
    Some((size, rest.split_once(' ')?.1))
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
