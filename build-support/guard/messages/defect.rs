//! A file that is not a usable library.

use crate::runtime::binary::{Defect, cpu_name};
use crate::runtime::facts::{Finding, FindingId, quoted};
use crate::runtime::install::{UnusableFile, package_owner};
use std::fmt;
use std::path::Path;

/// The system's messages for a denied access, as by a filter for system calls.
const DENIED: [&str; 2] = ["Permission denied", "Operation not permitted"];

/// Prints a clause that follows the name of the file.
impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Defect::Unreadable(words) => write!(f, "cannot be read: {words}"),
            Defect::Forbidden => f.write_str("cannot be read: permission denied"),
            Defect::Locked => f.write_str("is in use by another program (os error 32)"),
            Defect::Closed(dir) => {
                let dir = dir.display();
                write!(f, "cannot be reached: no permission to enter `{dir}`")
            }
            Defect::Dangling(target) => write!(f, "is a broken link to `{}`", target.display()),
            Defect::SymlinkLoop => f.write_str("is a symlink loop"),
            Defect::Directory => f.write_str("is a directory, not a file"),
            Defect::Special => f.write_str("is a pipe or a device, not a file"),
            Defect::Unlinked(name) => write!(f, "has no link `{name}` next to it"),
            Defect::Alone(name) => write!(
                f,
                "has no `{name}` next to it, through which programs use it"
            ),
            Defect::Empty => f.write_str("is empty"),
            Defect::Foreign(kind, words) if words.is_empty() => write!(f, "is not {kind}"),
            Defect::Foreign(kind, _) if self.is_lfs_pointer() => {
                write!(f, "is not {kind} but a Git LFS pointer")
            }
            Defect::Foreign(kind, words) => {
                write!(f, "is not {kind} but text that begins with {words:?}")
            }
            Defect::Truncated(what, reach, end) => write!(
                f,
                "is truncated: its size is {end} bytes, but its {what} extend to byte {reach}"
            ),
            Defect::Cpu(cpu, own) => write!(f, "is for {cpu}, but this program is for {own}"),
            Defect::Machine(number, own) => {
                f.write_str("is for ")?;
                match cpu_name(*number) {
                    Some("i686") => f.write_str("x86")?,
                    Some("powerpc64le") => f.write_str("powerpc64")?,
                    Some(name) => f.write_str(name)?,
                    None => write!(f, "the CPU with ELF number {number}")?,
                }
                write!(f, ", but this program is for {own}")
            }
            Defect::Class(own) => write!(f, "has a different word size or byte order than {own}"),
            Defect::Garbled => f.write_str("has inconsistent ELF tables"),
        }
    }
}

impl Defect {
    pub fn id(&self) -> FindingId {
        match self {
            Defect::Cpu(..) | Defect::Machine(..) | Defect::Class(_) => {
                FindingId::WrongArchitecture
            }
            Defect::Unreadable(_) | Defect::Forbidden | Defect::Locked | Defect::Closed(_) => {
                FindingId::IoError
            }
            _ => FindingId::LibraryDamaged,
        }
    }

    /// Returns the help for the user of a program, for a file of a cuDNN.
    pub fn help(&self, path: &Path) -> String {
        let folder = path.parent().unwrap_or(path);
        let word = |path: &Path| quoted(&path.to_string_lossy());
        let dir = folder.display();
        if let Some(own) = self.program_cpu() {
            return format!("install the cuDNN for {own} in `{dir}`");
        }
        match self {
            Defect::Unreadable(_) | Defect::Forbidden | Defect::Closed(_) if cfg!(windows) => {
                format!(
                    "let the user who runs this program read it: use the Security tab in the properties of `{dir}`"
                )
            }
            Defect::Locked => {
                "close the program that uses it, such as an installer, and restart this program".to_string()
            }
            Defect::Unreadable(words) if DENIED.iter().any(|denied| words.contains(denied)) => {
                format!(
                    "allow this program to read `{}`, or call `startup()` before the program enters its sandbox",
                    path.display()
                )
            }
            Defect::Unreadable(_) => format!(
                "check the disk or mount of the file: `df {}` shows it, and `dmesg` shows its errors",
                word(folder)
            ),
            Defect::Forbidden => {
                format!("make it readable: `sudo chmod -R a+rX {}`", word(path))
            }
            // It may be a user's home, so the help only makes it enterable.
            Defect::Closed(closed) => {
                format!("make that directory accessible: `sudo chmod a+x {}`", word(closed))
            }
            Defect::Empty | Defect::Directory if cfg!(windows) => {
                format!("remove it, and reinstall cuDNN in `{dir}`")
            }
            Defect::Empty => format!(
                "reinstall cuDNN in `{dir}`: a container image may contain an empty file where the real one is mounted \
                 at run time"
            ),
            Defect::Dangling(_) | Defect::SymlinkLoop => {
                match package_owner::reinstall_command(path) {
                    Some(command) => format!("reinstall its package: `{command}`"),
                    None => format!("remove that link, and reinstall cuDNN in `{dir}`"),
                }
            }
            Defect::Directory => format!(
                "remove that directory, and reinstall cuDNN in `{dir}`: Docker creates a directory if a file to mount \
                 does not exist on the host"
            ),
            _ if self.is_lfs_pointer() => {
                "run `git lfs pull` in the repository that contains the file: the file is only a pointer to the library"
                    .to_string()
            }
            Defect::Special => format!("remove it, and reinstall cuDNN in `{dir}`"),
            Defect::Unlinked(_) => {
                format!("create its links: `sudo ldconfig -n {}`", word(folder))
            }
            Defect::Alone(_) => format!("reinstall that cuDNN in `{dir}`"),
            Defect::Foreign(..) => format!("reinstall cuDNN in `{dir}`"),
            _ => format!("reinstall that cuDNN in `{dir}`, and check that the disk is not full"),
        }
    }
}

impl UnusableFile<'_> {
    pub fn finding(&self) -> Finding {
        let summary = format!("`{}` {}", self.path.display(), self.defect);
        Finding::new(self.defect.id(), self.severity, summary)
            .with_all(self.evidence.clone())
            .help(match (&self.help, self.reinstall()) {
                (Some(help), _) => help.clone(),
                (None, Some(command)) => format!("reinstall the package: `{command}`"),
                (None, None) => self.defect.help(self.path),
            })
    }
}
