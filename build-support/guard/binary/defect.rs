//! The reasons why a file is not a usable library for the target system or for this process.

use crate::runtime::system;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The start of a Git LFS pointer, which replaces a large file.
const LFS: &str = "version https://git-lfs";
/// `ERROR_SHARING_VIOLATION`
const SHARING_VIOLATION: i32 = 32;
/// More consecutive symlinks than Linux follows.
const MOST_LINKS: usize = 41;

/// A defect of a file. Its text is in `messages`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The file cannot be read, with the system's message.
    Unreadable(String),
    /// The file cannot be read: permission denied.
    Forbidden,
    /// On Windows: another program has opened the file exclusively.
    Locked,
    /// The file is below this directory, which cannot be entered: permission denied.
    Closed(PathBuf),
    /// A symlink to this path, which does not exist.
    Dangling(PathBuf),
    SymlinkLoop,
    /// A directory: docker creates one in place of a mounted file that the host does not have.
    Directory,
    /// A pipe or the like: opening it may wait forever for a writer.
    Special,
    /// The link of this name, which is the SONAME that programs search for, does not exist beside the file.
    Unlinked(String),
    /// The main library of this name does not exist beside this sub-library.
    Alone(String),
    /// The file is empty: container images contain such files in place of files that are mounted later.
    Empty,
    /// The file is not a library of this kind. The second value is the text that it begins with, if it begins with
    /// text.
    Foreign(&'static str, String),
    /// The file is truncated: its segments (on Windows, sections) extend to the first number, but it ends at the
    /// second. Opening it raises SIGBUS.
    Truncated(&'static str, u64, u64),
    /// The file is for the first CPU, but the program is for the second one.
    Cpu(&'static str, String),
    /// The file is for the CPU with this ELF number, but the program is for the CPU of this name.
    Machine(u64, String),
    /// The file is for 32-bit programs, or for the other byte order. The program is for this CPU.
    Class(String),
    /// The tables of the file contradict each other.
    Garbled,
}

impl Defect {
    /// Returns the defect of a file that begins with these bytes and is not a library of this kind.
    pub fn foreign(kind: &'static str, start: &[u8]) -> Self {
        let line = start.split(|&byte| byte == b'\n').next();
        let words = std::str::from_utf8(line.unwrap_or_default()).unwrap_or_default();
        let words = words.trim_end();
        if words.contains(char::is_control) {
            return Defect::Foreign(kind, String::new());
        }
        Defect::Foreign(kind, words.chars().take(40).collect())
    }

    /// Returns the obstacle between this path and a file; `None` if it is a file, or if nothing exists there.
    pub fn in_the_way(path: &Path) -> Option<Self> {
        if system::is_file(path) {
            return None;
        }
        Self::below(path, None)
    }

    /// Like [`in_the_way`](Self::in_the_way), but symlinks stay below the root.
    pub fn below(path: &Path, root: Option<&Path>) -> Option<Self> {
        let Some(end) = target(path, root) else {
            return Some(Defect::SymlinkLoop);
        };
        match system::link_metadata(&end) {
            // A link whose target cannot be read now.
            Ok(data) if data.is_file() || data.is_symlink() => None,
            Ok(data) if data.is_dir() => Some(Defect::Directory),
            Ok(_) => Some(Defect::Special),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                Some(match closed_dir(&end) {
                    // A system call filter denies this access. It may still allow the loader's.
                    dir if std::fs::symlink_metadata(&dir).is_err() => {
                        Defect::Unreadable(error.to_string())
                    }
                    dir => Defect::Closed(dir),
                })
            }
            Err(error) if end != path && is_absent(&error) => Some(Defect::Dangling(end)),
            Err(_) => None,
        }
    }

    /// Returns the defect of a file that could not be opened.
    pub fn unopened(error: &std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::PermissionDenied => Defect::Forbidden,
            _ if cfg!(windows) && error.raw_os_error() == Some(SHARING_VIOLATION) => Defect::Locked,
            _ => Defect::Unreadable(error.to_string()),
        }
    }

    /// Returns the program's CPU, if the file is for another one.
    pub fn program_cpu(&self) -> Option<&str> {
        match self {
            Defect::Machine(_, own) | Defect::Cpu(_, own) | Defect::Class(own) => Some(own),
            _ => None,
        }
    }

    /// Returns `true` for a Git LFS pointer to a file that was not fetched.
    pub fn is_lfs_pointer(&self) -> bool {
        matches!(self, Defect::Foreign(_, words) if words.starts_with(LFS))
    }

    /// Returns `true` if opening the file could kill or block the process.
    pub fn is_unsafe(&self) -> bool {
        matches!(
            self,
            Defect::Truncated(..) | Defect::Garbled | Defect::Special
        )
    }

    /// Returns `true` if the contents of the file are unknown. A file that is already mapped may be valid.
    pub fn is_unread(&self) -> bool {
        matches!(self, Defect::Unreadable(_) | Defect::Locked) || self.is_passed_over()
    }

    /// Returns `true` if the loader skips the file and continues with the next directory.
    pub fn is_passed_over(&self) -> bool {
        matches!(
            self,
            Defect::Machine(..)
                | Defect::Class(_)
                | Defect::Forbidden
                | Defect::Closed(_)
                | Defect::Dangling(_)
                | Defect::Unlinked(_)
        )
    }

    /// Returns `true` if the loader skips the file for every user. A file that only this user cannot read may be usable
    /// for the program.
    pub fn is_skipped(&self) -> bool {
        self.is_passed_over() && !matches!(self, Defect::Forbidden | Defect::Closed(_))
    }
}

/// Returns `true` if there is nothing for this process at a path. Any other error proves nothing.
pub fn is_absent(error: &std::io::Error) -> bool {
    use ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
}

/// Returns the final target of a symlink, or the path itself; `None` for a symlink loop. Symlinks stay below the root.
pub fn target(link: &Path, root: Option<&Path>) -> Option<PathBuf> {
    let mut at = link.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(Some(next)) = system::read_link(&at) else {
            return Some(at);
        };
        at = match (root, next.strip_prefix("/")) {
            (Some(root), Ok(inside)) => root.join(inside),
            _ => at.parent().unwrap_or(link).join(next),
        };
    }
    None
}

/// Returns the first directory on the way to a path that this user has no permission to enter.
fn closed_dir(path: &Path) -> PathBuf {
    let mut closed = path;
    for below in path.ancestors() {
        let metadata = std::fs::symlink_metadata(below);
        if !metadata.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
            break;
        }
        closed = below.parent().unwrap_or(below);
    }
    match target(closed, None) {
        Some(real) if real != closed => closed_dir(&real),
        _ => closed.to_path_buf(),
    }
}

/// Returns the name of a CPU in target triples by its number in ELF files.
pub fn cpu_name(number: u64) -> Option<&'static str> {
    match number {
        3 => Some("i686"),
        21 => Some("powerpc64le"),
        40 => Some("arm"),
        62 => Some("x86_64"),
        183 => Some("aarch64"),
        243 => Some("riscv64"),
        _ => None,
    }
}
