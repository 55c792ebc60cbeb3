use crate::runtime::binary::Defect;
use std::fmt;
use std::path::{Path, PathBuf};

/// A path that exists but cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    pub path: PathBuf,
    pub defect: Defect,
}

impl Obstacle {
    /// Replaces the path with the directory below `dir` that cannot be entered, if there is one.
    pub fn seen_from(self, dir: &Path) -> Self {
        match self.defect {
            Defect::Closed(path) if path.starts_with(dir) => Self {
                path,
                defect: Defect::Forbidden,
            },
            _ => self,
        }
    }

    /// Returns the directory that contains the path, or the directory that cannot be entered.
    pub fn dir(&self) -> &Path {
        match &self.defect {
            Defect::Closed(dir) => dir,
            _ => self.path.parent().unwrap_or(&self.path),
        }
    }

    /// Returns `true` if the path is a dangling link.
    pub fn is_gone(&self) -> bool {
        matches!(self.defect, Defect::SymlinkLoop | Defect::Dangling(_))
    }

    pub fn is_closed(&self) -> bool {
        matches!(self.defect, Defect::Closed(_) | Defect::Forbidden)
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path.display(), self.defect)
    }
}
