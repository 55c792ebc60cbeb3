//! Files and directories. An error keeps the verb and the path.

use crate::model::obstacle::Obstacle;
use crate::runtime::binary::defect::{Defect, target};
use crate::runtime::facts::finding::Finding;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// More than anything has that is read here. A file may claim any size, and take up no room on the disk.
const MOST: u64 = 16 << 20;
/// As the system has it.
const MOST_LINKS: u32 = 40;

/// A failed access to files.
pub enum FileFault<'a> {
    /// An operation that the system refuses.
    Failed {
        /// The operation: `read`.
        verb: &'static str,
        path: &'a Path,
        error: &'a io::Error,
    },
    /// A text that is not a pattern for files.
    InvalidPattern { pattern: &'a str, reason: &'a str },
}

/// The text of a file; bytes that are not UTF-8 are replaced, since headers hold names of people.
pub fn read(path: &Path) -> Result<String, Finding> {
    whole(path)
        .map(text)
        .map_err(|error| failed("read", path, &error))
}

/// All that is in a file.
#[cfg(feature = "cli")]
pub fn bytes(path: &Path) -> Result<Vec<u8>, Finding> {
    whole(path).map_err(|error| failed("read", path, &error))
}

fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = start(path, MOST + 1)?;
    match bytes.len() as u64 > MOST {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

fn start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    #[cfg(test)]
    opened::note(path);
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The whole lines at the beginning of a long file, or all of a short one.
pub fn read_start(path: &Path, most: u64) -> Result<String, Finding> {
    let read = || {
        let mut bytes = start(path, most)?;
        if bytes.len() as u64 == most {
            let end = bytes.iter().rposition(|byte| *byte == b'\n');
            bytes.truncate(end.map_or(0, |end| end + 1));
        }
        Ok(text(bytes))
    };
    read().map_err(|error| failed("read", path, &error))
}

fn text(bytes: Vec<u8>) -> String {
    // Most are UTF-8, and to see that is much quicker than to replace what is not.
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Writes a file, unless it holds that text already: a new date would make cargo build again.
pub fn write(path: &Path, text: &str) -> Result<(), Finding> {
    if std::fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    std::fs::write(path, text).map_err(|error| failed("write", path, &error))
}

/// Makes a link that leads there, in the place of another one.
#[cfg(unix)]
pub fn link(target: &Path, name: &Path) -> Result<(), Finding> {
    if std::fs::read_link(name).is_ok_and(|old| old == target) {
        return Ok(());
    }
    let _ = std::fs::remove_file(name);
    std::os::unix::fs::symlink(target, name).map_err(|error| failed("link", name, &error))
}

/// Only Linux has libraries with links.
#[cfg(not(unix))]
pub fn link(_: &Path, name: &Path) -> Result<(), Finding> {
    Err(failed(
        "link",
        name,
        &std::io::ErrorKind::Unsupported.into(),
    ))
}

/// Whether this is a regular file, or a link to one.
pub fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Whether there is anything of this name, be it a link that leads nowhere. The quickest question.
pub fn exists(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

/// Whether there may be something there that this user is kept from.
pub fn is_forbidden(path: &Path) -> bool {
    obstacle(path, None).is_some_and(|met| met.is_closed())
}

/// Why what is there cannot be used, if something is there: a file, or a directory to look into. Below a root, links
/// stay in it.
pub fn obstacle(path: &Path, root: Option<&Path>) -> Option<Obstacle> {
    let (path, defect) = match Defect::below(path, root) {
        None | Some(Defect::Directory) => {
            let end = target(path, root)?;
            let opened = match end.is_dir() {
                true => std::fs::read_dir(&end).map(drop),
                false => File::open(&end).map(drop),
            };
            let error = opened.err()?;
            let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
            (end, is_denied.then_some(Defect::Forbidden)?)
        }
        Some(defect) => (path.to_path_buf(), defect),
    };
    Some(Obstacle { path, defect })
}

/// Whether this user gets more rights by starting this program: it is setuid or setgid of another one, or has
/// capabilities of its own. Then the kernel sets AT_SECURE.
#[cfg(all(feature = "cli", target_os = "linux"))]
pub fn raises_rights(program: &Path) -> bool {
    use std::ffi::{CString, c_char, c_void};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    use std::ptr::null_mut;
    unsafe extern "C" {
        fn getxattr(
            path: *const c_char,
            name: *const c_char,
            to: *mut c_void,
            size: usize,
        ) -> isize;
    }
    let (Ok(file), Ok(user)) = (std::fs::metadata(program), std::fs::metadata("/proc/self")) else {
        return false;
    };
    // A setgid bit where the group may not run it has another meaning.
    let is_setgid = file.mode() & 0o2010 == 0o2010;
    if file.mode() & 0o4000 != 0 && file.uid() != user.uid()
        || is_setgid && file.gid() != user.gid()
    {
        return true;
    }
    let Ok(path) = CString::new(program.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: both names end in NUL, and with a size of 0 nothing is written.
    let size = unsafe {
        getxattr(
            path.as_ptr(),
            c"security.capability".as_ptr(),
            null_mut(),
            0,
        )
    };
    // Root has them all anyway.
    size > 0 && user.uid() != 0
}

/// Other systems have no file capabilities.
#[cfg(all(feature = "cli", not(target_os = "linux")))]
pub fn raises_rights(_program: &Path) -> bool {
    false
}

/// Whether this is a directory, or a link to one.
pub fn is_dir(path: &Path) -> bool {
    path.is_dir()
}

/// Whether this is a link, wherever it leads.
pub fn is_link(path: &Path) -> bool {
    path.is_symlink()
}

/// The size of a file; 0 where it cannot be told.
pub fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |data| data.len())
}

/// What a directory holds, sorted by name.
pub fn list(dir: &Path) -> Result<Vec<PathBuf>, Finding> {
    listed(dir, &|_| true)
}

/// What a directory holds under such names, sorted. A site-packages has thousands of others.
pub fn list_named(dir: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>, Finding> {
    listed(dir, &|name| name.to_str().is_some_and(wanted))
}

fn listed(dir: &Path, wanted: &dyn Fn(&OsStr) -> bool) -> Result<Vec<PathBuf>, Finding> {
    let entries = std::fs::read_dir(dir).map_err(|error| failed("list", dir, &error))?;
    let mut names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.retain(|name| wanted(name));
    names.sort();
    Ok(names.into_iter().map(|name| dir.join(name)).collect())
}

/// These names in a directory, there or not.
pub fn below(dir: &Path, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| dir.join(name)).collect()
}

/// The files that match a pattern such as `src/kernels/*.cu`, sorted.
pub fn glob(pattern: &str) -> Result<Vec<PathBuf>, Finding> {
    let found = glob::glob(pattern).map_err(|error| no_pattern(pattern, &error))?;
    let mut paths: Vec<PathBuf> = found.flatten().collect();
    paths.sort();
    Ok(paths)
}

/// Whether a path matches a pattern.
pub fn matches(pattern: &str, path: &Path) -> Result<bool, Finding> {
    let made = glob::Pattern::new(pattern).map_err(|error| no_pattern(pattern, &error))?;
    let options = glob::MatchOptions {
        require_literal_separator: true,
        ..glob::MatchOptions::new()
    };
    Ok(made.matches_path_with(path, options))
}

fn no_pattern(pattern: &str, error: &glob::PatternError) -> Finding {
    let reason = error.msg;
    FileFault::InvalidPattern { pattern, reason }.finding()
}

/// The path without links. Below a root, the target of an absolute link is looked for below that root again, as it
/// would be on the system whose image the root is.
pub fn canonical(path: &Path, root: Option<&Path>) -> Result<PathBuf, Finding> {
    real_path(path, root).map_err(|error| failed("follow", path, &error))
}

/// [`canonical`] without an explanation of errors, for many paths of which most do not exist.
pub(super) fn real_path(path: &Path, root: Option<&Path>) -> io::Result<PathBuf> {
    match root {
        Some(root) if path.starts_with(root) => inside(path, root),
        _ => std::fs::canonicalize(path).map(plain),
    }
}

/// Windows answers with `\\?\C:\dir`, which linkers, nvcc and the hosts' compilers do not take; `C:\dir` is the same
/// where it is short enough for them.
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

/// Paths in their order, each once.
pub fn dedup(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut seen = Vec::new();
    for path in paths {
        if !seen.contains(&path) {
            seen.push(path);
        }
    }
    seen
}

fn inside(path: &Path, root: &Path) -> io::Result<PathBuf> {
    let parts = |path: &Path| -> VecDeque<OsString> {
        let named = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_os_string()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        });
        named.collect()
    };
    let mut left = parts(path.strip_prefix(root).unwrap_or(path));
    let mut here = root.to_path_buf();
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            if here != root {
                here.pop();
            }
            continue;
        }
        let next = here.join(&part);
        if !std::fs::symlink_metadata(&next)?.is_symlink() {
            here = next;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(io::Error::other("too many links"));
        }
        let target = std::fs::read_link(&next)?;
        if target.is_absolute() {
            here = root.to_path_buf();
        }
        for part in parts(&target).into_iter().rev() {
            left.push_front(part);
        }
    }
    Ok(here)
}

pub(super) fn failed(verb: &'static str, path: &Path, error: &io::Error) -> Finding {
    FileFault::Failed { verb, path, error }.finding()
}

/// The files that this thread has opened.
#[cfg(test)]
pub mod opened {
    use std::cell::RefCell;
    use std::path::{Path, PathBuf};

    thread_local! {
        static OPENED: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
    }

    pub fn note(path: &Path) {
        OPENED.with_borrow_mut(|opened| opened.push(path.to_path_buf()));
    }

    /// Returns those since the last call.
    pub fn take() -> Vec<PathBuf> {
        OPENED.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_verb_and_path() {
        let error = read(Path::new("/nowhere/at all")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot read `/nowhere/at all`  [io-error]\n  reason      No such file or directory (os error 2)"
        );
    }

    #[test]
    fn a_path_of_windows_is_one_that_compilers_take() {
        let long = format!(r"\\?\C:\{}", "d".repeat(260));
        for (given, wanted) in [
            (r"\\?\C:\Program Files\CUDA", r"C:\Program Files\CUDA"),
            (r"\\?\UNC\server\share\CUDA", r"\\server\share\CUDA"),
            (r"\\?\Volume{1-2}\CUDA", r"\\?\Volume{1-2}\CUDA"),
            ("/usr/local/cuda", "/usr/local/cuda"),
            (&long, &long),
        ] {
            assert_eq!(plain(given.into()).to_str(), Some(wanted));
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
        assert_eq!(looped.evidence, [("reason", "too many links".to_string())]);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
