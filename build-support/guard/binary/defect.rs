//! Why a file is no library for the system that is built for, or for this process.

use crate::runtime::system;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// How the file begins that Git LFS puts in the place of a large one.
const LFS: &str = "version https://git-lfs";
/// More links in a row than Linux follows.
const MOST_LINKS: usize = 41;

/// What is wrong with a file. Its sentences are in `messages`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The system's words.
    Unreadable(String),
    /// This user may not read it.
    Forbidden,
    /// It lies in this directory or below it, which this user may not enter.
    Closed(PathBuf),
    /// It is a link that leads here, where nothing is.
    Dangling(PathBuf),
    /// It is a link that leads in a circle.
    Circle,
    /// It is a directory: docker makes one where it is to mount a file that the host does not have.
    Directory,
    /// It is a pipe or the like: to open it may wait for ever for somebody to write into it.
    Special,
    /// It lies there without the link of this name, which is its SONAME and by which programs look for it.
    Unlinked(String),
    /// It is a part of a cuDNN whose first library, of this name, does not lie beside it.
    Alone(String),
    /// Nothing is in it: container images keep such a file in the place of one that is mounted later.
    Empty,
    /// It is no library of this kind, and begins with these words, if they are words.
    Foreign(&'static str, String),
    /// Its segments, or as Windows has it sections, reach to the first number, and it ends at the second: opening it
    /// ends in SIGBUS.
    CutOff(&'static str, u64, u64),
    /// It is for another processor than the one that is built for.
    Cpu(&'static str),
    /// It is for another processor, by ELF's number, than the program, by name.
    Machine(u64, &'static str),
    /// It is for 32-bit programs, or for the other byte order.
    Class,
    /// Its tables contradict themselves.
    Garbled,
}

impl Defect {
    /// That a file which begins so is no library of this kind.
    pub fn foreign(kind: &'static str, start: &[u8]) -> Self {
        let line = start.split(|&byte| byte == b'\n').next();
        let words = std::str::from_utf8(line.unwrap_or_default()).unwrap_or_default();
        let words = words.trim_end();
        let mut told = String::new();
        for character in words.chars().take(40) {
            told.push(character);
        }
        if words.contains(char::is_control) {
            told.clear();
        }
        Defect::Foreign(kind, told)
    }

    /// What stands between this path and a file; none where a file is, and where nothing is.
    pub fn in_the_way(path: &Path) -> Option<Self> {
        match system::is_file(path) {
            true => None,
            false => Self::below(path, None),
        }
    }

    /// Returns the defect of a path below a root, whose links stay in it.
    pub fn below(path: &Path, root: Option<&Path>) -> Option<Self> {
        let Some(end) = target(path, root) else {
            return Some(Defect::Circle);
        };
        match std::fs::symlink_metadata(&end) {
            Ok(data) if data.is_file() => None,
            Ok(data) if data.is_dir() => Some(Defect::Directory),
            Ok(_) => Some(Defect::Special),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                Some(match closed_dir(&end) {
                    // A filter of system calls, which may let the loader go through.
                    dir if std::fs::symlink_metadata(&dir).is_err() => {
                        Defect::Unreadable(error.to_string())
                    }
                    dir => Defect::Closed(dir),
                })
            }
            Err(_) if end == path => None,
            Err(_) => Some(Defect::Dangling(end)),
        }
    }

    /// Why it could not be opened.
    pub fn unopened(error: &std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::PermissionDenied => Defect::Forbidden,
            _ => Defect::Unreadable(error.to_string()),
        }
    }

    /// Whether it is what Git LFS puts in the place of a file that nobody fetched.
    pub fn is_lfs_pointer(&self) -> bool {
        matches!(self, Defect::Foreign(_, words) if words.starts_with(LFS))
    }

    /// Whether the loader goes on to the next directory over it.
    pub fn is_passed_over(&self) -> bool {
        matches!(
            self,
            Defect::Machine(..)
                | Defect::Class
                | Defect::Unreadable(_)
                | Defect::Forbidden
                | Defect::Closed(_)
                | Defect::Dangling(_)
                | Defect::Unlinked(_)
        )
    }
}

/// Where a link leads in the end, itself if it is none; none if it leads in a circle. Below a root, links stay in it.
pub fn target(link: &Path, root: Option<&Path>) -> Option<PathBuf> {
    let mut at = link.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(next) = std::fs::read_link(&at) else {
            return Some(at);
        };
        at = match (root, next.strip_prefix("/")) {
            (Some(root), Ok(inside)) => root.join(inside),
            _ => at.parent().unwrap_or(link).join(next),
        };
    }
    None
}

/// The first directory on the way to a path that this user may not enter.
fn closed_dir(path: &Path) -> PathBuf {
    let mut closed = path;
    for below in path.ancestors() {
        let looked = std::fs::symlink_metadata(below);
        if !looked.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
            break;
        }
        closed = below.parent().unwrap_or(below);
    }
    match target(closed, None) {
        Some(real) if real != closed => closed_dir(&real),
        _ => closed.to_path_buf(),
    }
}

/// A processor's name in target triples, by its number in ELF files.
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
