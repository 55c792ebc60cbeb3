//! The answers of the file system during a check or a probe: on a network file system, each call takes a millisecond.

use crate::runtime::system::platform;
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::mem::ManuallyDrop;
use std::path::{Component, Path, PathBuf};

/// The limit of Linux.
const MAX_LINKS: u32 = 40;

/// The answers by query and path. Paths are compared as bytes, since components are slow in an unoptimized build script.
type Answers = BTreeMap<(&'static str, OsString), Box<dyn Any>>;

thread_local! {
    /// `None` outside of a check or a probe. Not dropped, since a destructor would keep the guard's library loaded.
    static ANSWERS: RefCell<ManuallyDrop<Option<Answers>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

/// Keeps the answers of this thread until it is dropped, if it is the outermost (`true`).
pub struct PathCache(bool);

impl PathCache {
    pub fn start() -> Self {
        let is_first = with(|known| known.is_none() && known.replace(Answers::new()).is_none());
        Self(is_first.unwrap_or(false))
    }
}

impl Drop for PathCache {
    fn drop(&mut self) {
        if self.0 {
            with(|answers| *answers = None);
        }
    }
}

/// Forgets the answers, because files may have changed.
pub fn forget() {
    with(|answers| answers.as_mut().map(Answers::clear));
}

/// Returns the answer to a query about a path, which is asked once.
pub fn once<T: Clone + 'static>(query: &'static str, path: &Path, ask: impl FnOnce() -> T) -> T {
    let key = (query, path.as_os_str().to_os_string());
    let known = with(|known| known.as_ref()?.get(&key)?.downcast_ref().cloned());
    if let Some(answer) = known.flatten() {
        return answer;
    }
    #[cfg(test)]
    asked::note(&key);
    let answer = ask();
    let kept = Box::new(answer.clone());
    with(|known| known.as_mut()?.insert(key, kept));
    answer
}

/// Like [`once`], for a system call, whose error number is kept.
pub fn call<T: Clone + 'static>(
    query: &'static str,
    path: &Path,
    ask: fn(&Path) -> io::Result<T>,
) -> io::Result<T> {
    /// `ENOENT` or `ERROR_FILE_NOT_FOUND`, for a path that no file can have.
    const NOT_FOUND: i32 = 2;
    let number = |error: io::Error| error.raw_os_error().unwrap_or(NOT_FOUND);
    once(query, path, || ask(path).map_err(number)).map_err(io::Error::from_raw_os_error)
}

/// Returns the metadata of a path, of which the last component may be a link. Most paths contain no links or do not
/// exist, so the other queries start with this one.
pub fn link_metadata(path: &Path) -> io::Result<Metadata> {
    call("lstat", path, |path| platform::metadata(path, false))
}

pub fn metadata(path: &Path) -> io::Result<Metadata> {
    match link_metadata(path)? {
        data if data.is_symlink() => call("stat", path, |path| platform::metadata(path, true)),
        data => Ok(data),
    }
}

/// Returns the target of a link, and `None` for other files.
pub fn read_link(path: &Path) -> io::Result<Option<PathBuf>> {
    match link_metadata(path)?.is_symlink() {
        true => call("link", path, |path| std::fs::read_link(path)).map(Some),
        false => Ok(None),
    }
}

/// Resolves the links in a path. Below a root, absolute links are relative to the root.
pub fn canonical(path: &Path, root: Option<&Path>) -> io::Result<PathBuf> {
    // `realpath` reads the links of all parent directories again.
    let root = root.filter(|root| path.starts_with(root));
    if root.is_none() && (cfg!(windows) || path.is_relative()) {
        return call("canonical", path, |path| std::fs::canonicalize(path));
    }
    let root = root.unwrap_or(Path::new("/"));
    // The components in reverse order.
    let mut left: Vec<OsString> = Vec::new();
    let add_parts = |left: &mut Vec<OsString>, path: &Path| {
        for part in path.components().rev() {
            match part {
                Component::Normal(name) => left.push(name.to_os_string()),
                Component::ParentDir => left.push("..".into()),
                _ => {}
            }
        }
    };
    add_parts(&mut left, path.strip_prefix(root).unwrap_or(path));
    let mut here = root.to_path_buf();
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == ".." {
            if here != root {
                here.pop();
            }
            continue;
        }
        let next = here.join(&part);
        let Some(target) = read_link(&next)? else {
            here = next;
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            return Err(io::Error::other("too many symlinks"));
        }
        if target.is_absolute() {
            here = root.to_path_buf();
        }
        add_parts(&mut left, &target);
    }
    Ok(here)
}

/// Returns `None` where a panic would be possible.
fn with<T>(access: impl FnOnce(&mut Option<Answers>) -> T) -> Option<T> {
    let known = |known: &RefCell<ManuallyDrop<_>>| Some(access(&mut *known.try_borrow_mut().ok()?));
    ANSWERS.try_with(known).ok()?
}

/// A record of the queries of this thread.
#[cfg(test)]
pub mod asked {
    use std::cell::RefCell;
    use std::ffi::OsString;

    type Key = (&'static str, OsString);

    thread_local! {
        static ASKED: RefCell<Vec<Key>> = const { RefCell::new(Vec::new()) };
    }

    pub fn note(key: &Key) {
        ASKED.with_borrow_mut(|asked| asked.push(key.clone()));
    }

    /// Returns the queries since the last call.
    pub fn take() -> Vec<Key> {
        ASKED.take()
    }
}
