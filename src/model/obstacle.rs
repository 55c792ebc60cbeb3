//! Why something that is there cannot be used.

use crate::model::invocation::quoted;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why something that is there cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A link in a circle.
    Loop(PathBuf),
    /// A link, and where it leads: nothing is there.
    Dangling(PathBuf, PathBuf),
    /// A directory or a file that this user may not open.
    Closed(PathBuf),
    /// A directory on the way there that this user may not enter. It may be somebody's home.
    Barred(PathBuf),
    /// A directory where a file belongs.
    Directory(PathBuf),
    /// A library without the link of this name, by which programs look for it.
    Unlinked(PathBuf, String),
}

impl Obstacle {
    /// The same, where what is closed lies outside of this directory, which is what is looked at.
    pub fn seen_from(self, dir: &Path) -> Self {
        match self {
            Self::Closed(path) if !path.starts_with(dir) => Self::Barred(path),
            other => other,
        }
    }

    /// The directory in which it is.
    pub fn dir(&self) -> &Path {
        match self {
            Self::Closed(path) | Self::Barred(path) => path,
            Self::Loop(path)
            | Self::Dangling(path, _)
            | Self::Directory(path)
            | Self::Unlinked(path, _) => path.parent().unwrap_or(path),
        }
    }

    /// What mends it; `is_beside` if the library itself lies beside the link.
    pub fn help(&self, is_beside: bool) -> String {
        let dir = quoted(&self.dir().to_string_lossy());
        match self {
            Self::Closed(_) => format!("let everybody open it: `sudo chmod -R a+rX {dir}`"),
            Self::Barred(_) => format!("let this user enter it: `sudo chmod a+x {dir}`"),
            Self::Directory(path) => format!(
                "remove the directory `{}`, and install the cuDNN there again: docker makes one where it is to mount a \
                 file that the host does not have",
                path.display()
            ),
            Self::Unlinked(..) => format!("make its links: `sudo ldconfig -n {dir}`"),
            _ if is_beside => {
                format!(
                    "make the links anew, since the library lies there: `sudo ldconfig -n {dir}`"
                )
            }
            Self::Loop(_) | Self::Dangling(..) => {
                format!(
                    "install the cuDNN in `{}` again, whole",
                    self.dir().display()
                )
            }
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop(link) => write!(f, "`{}` is a link that leads to itself", link.display()),
            Self::Dangling(link, target) => {
                let (link, target) = (link.display(), target.display());
                write!(f, "`{link}` is a link to `{target}`, which is not there")
            }
            Self::Closed(path) => write!(f, "this user may not open `{}`", path.display()),
            Self::Barred(path) => write!(f, "this user may not enter `{}`", path.display()),
            Self::Directory(path) => {
                write!(
                    f,
                    "`{}` is a directory, where a library belongs",
                    path.display()
                )
            }
            Self::Unlinked(file, name) => {
                write!(f, "`{}` has no link `{name}` beside it", file.display())
            }
        }
    }
}
