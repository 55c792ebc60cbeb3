//! Something that is there and cannot be used, with the reason.

use crate::runtime::binary::defect::Defect;
use std::fmt;
use std::path::{Path, PathBuf};

/// Something that is there and cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// A file, a link or a directory.
    pub path: PathBuf,
    /// Why.
    pub defect: Defect,
}

impl Obstacle {
    /// Returns the obstacle as seen from this directory: if a directory within it may not be entered, that one is named.
    pub fn seen_from(self, dir: &Path) -> Self {
        match self.defect {
            Defect::Closed(path) if path.starts_with(dir) => Self {
                path,
                defect: Defect::Forbidden,
            },
            _ => self,
        }
    }

    /// The directory in which it is.
    pub fn dir(&self) -> &Path {
        match &self.defect {
            Defect::Closed(dir) => dir,
            _ => self.path.parent().unwrap_or(&self.path),
        }
    }

    /// Whether it is a matter of rights.
    pub fn is_closed(&self) -> bool {
        matches!(self.defect, Defect::Closed(_) | Defect::Forbidden)
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path.display(), self.defect)
    }
}
