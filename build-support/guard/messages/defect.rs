//! A file that is no library for this process.

use crate::runtime::binary::defect::{Defect, cpu_name};
use crate::runtime::facts::finding::{Finding, quoted};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::install::package_owner;
use std::fmt;
use std::path::Path;

/// Prints a clause that follows the name of the file.
impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = std::env::consts::ARCH;
        match self {
            Defect::Unreadable(words) => write!(f, "cannot be read: {words}"),
            Defect::Forbidden => f.write_str("may not be read by this user"),
            Defect::Locked => f.write_str("is held open by another program (os error 32)"),
            Defect::Closed(dir) => {
                let dir = dir.display();
                write!(f, "cannot be reached: this user may not enter `{dir}`")
            }
            Defect::Dangling(target) => {
                let target = target.display();
                write!(f, "is a link that leads to `{target}`, where nothing is")
            }
            Defect::SymlinkLoop => f.write_str("is a link that leads in a circle"),
            Defect::Directory => f.write_str("is a directory, not a file"),
            Defect::Special => f.write_str("is a pipe or a device, not a file"),
            Defect::Unlinked(name) => write!(f, "has no link `{name}` beside it"),
            Defect::Alone(name) => {
                write!(
                    f,
                    "has no `{name}` beside it, which programs use it through"
                )
            }
            Defect::Empty => f.write_str("is empty"),
            Defect::Foreign(kind, words) if words.is_empty() => write!(f, "is not {kind}"),
            Defect::Foreign(kind, _) if self.is_lfs_pointer() => {
                write!(f, "is not {kind}, but a pointer of Git LFS to one")
            }
            Defect::Foreign(kind, words) => {
                write!(f, "is not {kind}, but a text that begins with {words:?}")
            }
            Defect::Truncated(what, reach, end) => write!(
                f,
                "is cut off: it ends at byte {end}, and its {what} reach to {reach}"
            ),
            Defect::Cpu(cpu) => write!(f, "is for {cpu}"),
            Defect::Machine(number, own) => {
                f.write_str("is for ")?;
                match cpu_name(*number) {
                    Some("i686") => f.write_str("x86")?,
                    Some("powerpc64le") => f.write_str("powerpc64")?,
                    Some(name) => f.write_str(name)?,
                    None => write!(f, "the CPU with ELF number {number}")?,
                }
                write!(f, ", and this program is for {own}")
            }
            Defect::Class => write!(
                f,
                "is for programs of another word size or byte order than {own}"
            ),
            Defect::Garbled => f.write_str("has ELF tables that contradict themselves"),
        }
    }
}

impl Defect {
    pub fn id(&self) -> FindingId {
        match self {
            Defect::Cpu(_) | Defect::Machine(..) | Defect::Class => FindingId::WrongArchitecture,
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
        match self {
            Defect::Machine(_, own) => format!("install the cuDNN for {own} in `{dir}`"),
            Defect::Cpu(_) | Defect::Class => format!(
                "install the cuDNN for {} in `{dir}`",
                std::env::consts::ARCH
            ),
            Defect::Unreadable(_) | Defect::Forbidden | Defect::Closed(_) if cfg!(windows) => {
                format!(
                    "let the user who runs this program read it: the tab Security in the properties of `{dir}`"
                )
            }
            Defect::Locked => {
                "close the program that holds it open, such as an installer, and start this one again".to_string()
            }
            Defect::Unreadable(_) => {
                let path = word(path);
                format!(
                    "let the user who runs this program read it: `ls -lL {path}` shows its rights"
                )
            }
            Defect::Forbidden => {
                format!("let everybody open it: `sudo chmod -R a+rX {}`", word(path))
            }
            // It may be a user's home, so the help only makes it enterable.
            Defect::Closed(closed) => {
                format!("let this user enter it: `sudo chmod a+x {}`", word(closed))
            }
            Defect::Empty | Defect::Directory if cfg!(windows) => {
                format!("remove it, and install cuDNN in `{dir}` again")
            }
            Defect::Empty => format!(
                "install cuDNN in `{dir}`: a container image may hold an empty file where the real one is mounted \
                 when it runs"
            ),
            Defect::Dangling(_) | Defect::SymlinkLoop => {
                match package_owner::reinstall_command(folder) {
                    Some(command) => format!("install its package again: `{command}`"),
                    None => format!("remove that link, and install cuDNN in `{dir}` again"),
                }
            }
            Defect::Directory => format!(
                "remove that directory, and install cuDNN in `{dir}`: docker makes one where it is to mount a file \
                 that the host does not have"
            ),
            _ if self.is_lfs_pointer() => {
                "run `git lfs pull` in the repository that the file is from: the file is a pointer to the library"
                    .to_string()
            }
            Defect::Special => format!("remove it, and install cuDNN in `{dir}` again"),
            Defect::Unlinked(_) => {
                format!("make its links: `sudo ldconfig -n {}`", word(folder))
            }
            Defect::Alone(_) => format!("install that cuDNN again in `{dir}`, whole"),
            Defect::Foreign(..) => format!("install cuDNN in `{dir}` again"),
            _ => format!("install that cuDNN again in `{dir}`, and see that the disk is not full"),
        }
    }
}

impl Finding {
    /// Adds the unusable file of its name to the finding for a library that is not found.
    pub fn with_unfit(
        mut self,
        path: &Path,
        defect: &Defect,
        found_via: impl fmt::Display,
    ) -> Self {
        self.summary += &format!("; `{}` {}", path.display(), defect);
        self.evidence
            .insert(0, ("found via", found_via.to_string()));
        self.help(defect.help(path))
    }
}
