//! Files and directories. An error contains the operation and the path.

use crate::model::Obstacle;
use crate::model::target_list::add;
use crate::runtime::binary::Defect;
use crate::runtime::binary::defect::target;
use crate::runtime::facts::Finding;
use crate::runtime::system::{self, path_cache};
use crate::system::sysroot::real_path;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The size limit of files that are read completely. A sparse file may have any size.
const MAX_SIZE: usize = 16 << 20;

pub enum FileFault<'a> {
    /// An operation, such as `read`, that the operating system refuses.
    Failed(&'static str, &'a Path, &'a io::Error),
    /// An invalid glob pattern, and the reason.
    InvalidPattern(&'a str, &'a str),
}

/// Reads a text file. Invalid UTF-8 is replaced, because headers may contain people's names in other encodings.
pub fn read(path: &Path) -> Result<String, Finding> {
    bytes(path).map(text)
}

pub fn bytes(path: &Path) -> Result<Vec<u8>, Finding> {
    let bytes = start(path, MAX_SIZE + 1)?;
    complete(bytes).map_err(|error| failed("read", path, &error))
}

/// Reads a text file like [`std::fs::read_to_string`], but within the limits of [`read`].
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let bytes = complete(read_most(path, MAX_SIZE + 1)?)?;
    String::from_utf8(bytes).map_err(|error| io::Error::other(error.utf8_error()))
}

fn complete(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    match bytes.len() > MAX_SIZE {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

/// Reads the complete lines in the first `most` bytes of a file.
pub fn read_start(path: &Path, most: usize) -> Result<String, Finding> {
    let mut bytes = start(path, most)?;
    if bytes.len() == most {
        while bytes.last().is_some_and(|byte| *byte != b'\n') {
            bytes.pop();
        }
    }
    Ok(text(bytes))
}

fn start(path: &Path, most: usize) -> Result<Vec<u8>, Finding> {
    #[cfg(test)]
    opened::note(path);
    read_most(path, most).map_err(|error| failed("read", path, &error))
}

/// Reads the first bytes of a file, in a loop, since `Read::take` would be compiled once more in this crate. A pipe
/// without a writer would never be opened, and a device may never end.
fn read_most(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let kind = system::metadata(path)?;
    if !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut file = File::open(path)?;
    let (mut bytes, mut chunk) = (Vec::new(), [0; 1 << 16]);
    loop {
        let left = chunk.len().min(most - bytes.len());
        match file.read(&mut chunk[..left]) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn text(bytes: Vec<u8>) -> String {
    // Checking for valid UTF-8, which most files contain, is much faster than replacing invalid bytes.
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Writes a file unless it already contains this text: a new modification time would trigger a rebuild.
pub fn write(path: &Path, text: &str) -> Result<(), Finding> {
    if read_most(path, text.len() + 1).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    path_cache::forget();
    std::fs::write(path, text).map_err(|error| failed("write", path, &error))
}

/// Creates a symlink `name` to a file, or a copy if the system has no symlinks. A link to the same file is kept.
pub fn link(target: &Path, name: &Path) -> Result<(), Finding> {
    if std::fs::read_link(name).is_ok_and(|old| old == target) {
        return Ok(());
    }
    match std::fs::remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed("replace", name, &error));
        }
        _ => {}
    }
    #[cfg(unix)]
    let linked = std::os::unix::fs::symlink(target, name);
    #[cfg(not(unix))]
    let linked = Err(io::Error::from(io::ErrorKind::Unsupported));
    path_cache::forget();
    let linked = linked.or_else(|_| std::fs::copy(target, name).map(drop));
    linked.map_err(|error| failed("link", name, &error))
}

/// Returns `true` for a regular file or a link to one.
pub fn is_file(path: &Path) -> bool {
    system::is_file(path)
}

/// Returns `true` if the name exists, even as a dangling link. This is the fastest check.
pub fn exists(path: &Path) -> bool {
    system::link_metadata(path).is_ok()
}

/// Returns the reason why an existing file or directory cannot be used. Below a root, links stay in the root.
pub fn obstacle(path: &Path, root: Option<&Path>) -> Option<Obstacle> {
    let (path, defect) = match Defect::below(path, root) {
        None | Some(Defect::Directory) => {
            let end = target(path, root)?;
            let opened = match system::metadata(&end).ok()?.is_dir() {
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

/// Returns `true` for a directory or a link to one.
pub fn is_dir(path: &Path) -> bool {
    system::metadata(path).is_ok_and(|data| data.is_dir())
}

/// Returns `true` for a symlink, even a dangling one.
pub fn is_link(path: &Path) -> bool {
    system::link_metadata(path).is_ok_and(|data| data.is_symlink())
}

/// Returns the size of a file, or 0 if it cannot be read.
pub fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |data| data.len())
}

/// Lists a directory, sorted by name.
pub fn list(dir: &Path) -> Result<Vec<PathBuf>, Finding> {
    Ok(below(dir, &names(dir)?))
}

/// Lists the files of a directory with matching names, sorted with numbers in numeric order.
pub fn list_named(dir: &Path, matches: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>, Finding> {
    let mut sorted = Vec::new();
    for name in names(dir)? {
        if let Some(text) = name.to_str().filter(|text| matches(text)) {
            add(&mut sorted, (numeric_order(text), dir.join(&name)));
        }
    }
    let mut files = Vec::new();
    for (_, file) in sorted {
        files.push(file);
    }
    Ok(files)
}

/// The smallest number that stands for a character in [`numeric_order`].
pub const CHARACTERS: u32 = 1 << 30;

/// Returns a key by which `libcudnn.so.9.9.0` precedes `libcudnn.so.9.14.0`: the number for each number, and a larger
/// one for each other character.
pub fn numeric_order(name: &str) -> Vec<u32> {
    let (mut key, mut is_number): (Vec<u32>, bool) = (Vec::new(), false);
    for character in name.chars() {
        match (character.to_digit(10), key.last_mut()) {
            (Some(digit), Some(number)) if is_number => {
                let longer = number.saturating_mul(10).saturating_add(digit);
                *number = longer.min(CHARACTERS - 1);
            }
            (Some(digit), _) => key.push(digit),
            (None, _) => key.push(CHARACTERS + u32::from(character)),
        }
        is_number = character.is_ascii_digit();
    }
    key
}

/// Returns the sorted names in a directory.
pub fn names(dir: &Path) -> Result<Vec<OsString>, Finding> {
    let read = |dir: &Path| {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            names.extend(entry.map(|entry| entry.file_name()));
        }
        names.sort();
        Ok(names)
    };
    path_cache::call("names", dir, read).map_err(|error| failed("list", dir, &error))
}

/// Joins names to a directory. The paths need not exist.
pub fn below(dir: &Path, names: &[impl AsRef<Path>]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for name in names {
        paths.push(dir.join(name));
    }
    paths
}

/// Lists the files that match a pattern such as `src/kernels/*.cu`, sorted.
pub fn glob(pattern: &str) -> Result<Vec<PathBuf>, Finding> {
    let found = glob::glob(pattern).map_err(|error| invalid_pattern(pattern, &error))?;
    let mut paths = Vec::new();
    found.flatten().for_each(|path| add(&mut paths, path));
    Ok(paths)
}

pub fn matches(pattern: &str, path: &Path) -> Result<bool, Finding> {
    let compiled = glob::Pattern::new(pattern).map_err(|error| invalid_pattern(pattern, &error))?;
    let options = glob::MatchOptions {
        require_literal_separator: true,
        ..glob::MatchOptions::new()
    };
    Ok(compiled.matches_path_with(path, options))
}

fn invalid_pattern(pattern: &str, error: &glob::PatternError) -> Finding {
    FileFault::InvalidPattern(pattern, error.msg).finding()
}

/// Resolves the links in a path. Below a root, absolute links are relative to the root, as on the system in the image.
pub fn canonical(path: &Path, root: Option<&Path>) -> Result<PathBuf, Finding> {
    real_path(path, root).map_err(|error| failed("resolve", path, &error))
}

/// Keeps the matching paths, like [`Vec::retain`], which would be compiled again for each condition.
pub fn keep(paths: &mut Vec<PathBuf>, matches: &dyn Fn(&Path) -> bool) {
    paths.retain(|path| matches(path));
}

/// Returns the first existing file of this name in these directories.
pub fn find_in(dirs: &[PathBuf], name: &str) -> Option<PathBuf> {
    for dir in dirs {
        let path = dir.join(name);
        if is_file(&path) {
            return Some(path);
        }
    }
    None
}

/// Joins a name to each directory. The paths need not exist.
pub fn join_each(dirs: &[PathBuf], name: &str) -> Vec<PathBuf> {
    let mut paths = dirs.to_vec();
    for path in &mut paths {
        path.push(name);
    }
    paths
}

/// Removes duplicates without changing the order.
pub fn dedup<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        push_new(&mut seen, item);
    }
    seen
}

/// Appends an item unless the list contains it.
pub fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

pub(super) fn failed(verb: &'static str, path: &Path, error: &io::Error) -> Finding {
    FileFault::Failed(verb, path, error).finding()
}

/// A record of the files that this thread has opened.
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

    /// Returns the files opened since the last call.
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
    #[cfg(unix)]
    fn a_pipe_or_a_device_is_not_read() {
        let pipe = std::env::temp_dir().join(format!("cudnn-guard-pipe-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let reason = |path: &Path| read_to_string(path).unwrap_err().to_string();
        let finding = read_start(&pipe, 9).unwrap_err();
        let reasons = [reason(&pipe), reason(Path::new("/dev/null"))];
        std::fs::remove_file(&pipe).unwrap();
        assert_eq!(reasons, ["not a regular file", "not a regular file"]);
        assert_eq!(finding.evidence, [("reason", reasons[0].clone())]);
    }

    #[test]
    #[cfg(unix)]
    fn a_link_to_another_file_is_replaced() {
        let name = std::env::temp_dir().join(format!("cudnn-guard-link-{}", std::process::id()));
        for target in ["/one", "/other", "/other"] {
            link(Path::new(target), &name).unwrap();
            assert_eq!(std::fs::read_link(&name).unwrap(), Path::new(target));
        }
        std::fs::remove_file(&name).unwrap();
    }

    #[test]
    fn names_are_sorted_by_their_numbers() {
        let names = [
            "a",
            "a.so.9",
            "a.so.9.9.0",
            "a.so.9.14.0",
            "a.so.10",
            "b.so.1",
        ];
        let mut sorted = names.map(numeric_order);
        sorted.sort();
        assert_eq!(sorted, names.map(numeric_order));
        assert!(numeric_order("99999999999") < numeric_order("a"));
    }
}
