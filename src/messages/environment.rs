//! Incompatible versions of the toolkit, cuDNN, driver and host compiler.

use crate::compat::rules::NewerToolkitPtx;
use crate::runtime::facts::finding::{Finding, Severity};

impl NewerToolkitPtx {
    /// Returns the finding, a note if no GPU of this machine needs PTX.
    pub fn finding(&self) -> Finding {
        let severity = match self.is_needed {
            true => Severity::Warning,
            false => Severity::Note,
        };
        let finding = self.ptx.finding(severity, "the toolkit writes");
        match self.first_driver {
            Some(first) => finding.with("required", format!("driver {first} or later")),
            None => finding,
        }
    }
}
