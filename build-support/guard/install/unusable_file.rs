//! A file of a cuDNN that cannot be used.

use crate::runtime::binary::Defect;
use crate::runtime::facts::{FindingId, Severity};
use crate::runtime::install::package_owner;
use std::path::Path;

pub struct UnusableFile<'a> {
    pub path: &'a Path,
    pub defect: &'a Defect,
    pub severity: Severity,
    /// The reason why this file is used, and the loader's message.
    pub evidence: Vec<(&'static str, String)>,
    /// The help that makes the loader use another file.
    pub help: Option<String>,
}

impl<'a> UnusableFile<'a> {
    /// Creates the fault, which is an error.
    pub fn new(path: &'a Path, defect: &'a Defect, evidence: Vec<(&'static str, String)>) -> Self {
        Self {
            path,
            defect,
            severity: Severity::Error,
            evidence,
            help: None,
        }
    }

    /// Returns the command that installs the package again, if that replaces the damaged file.
    pub fn reinstall(&self) -> Option<String> {
        match self.defect {
            Defect::Empty | Defect::Directory => None,
            defect if defect.id() != FindingId::LibraryDamaged || defect.is_lfs_pointer() => None,
            _ => package_owner::reinstall_command(self.path),
        }
    }

    /// Makes it a warning if nothing that is known needs the file, or if it cannot be read here: the program may be
    /// able to read it.
    pub fn needed_if(self, is_needed: bool) -> Self {
        let is_unread = matches!(
            self.defect,
            Defect::Unreadable(_) | Defect::Forbidden | Defect::Closed(_)
        );
        Self {
            severity: Severity::error_if(is_needed && !is_unread),
            ..self
        }
    }
}
