//! Which GPUs to compile for.

use crate::model::arch::Target;
use crate::model::finding::Finding;

/// The targets of a build, in numeric order, and who chose them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Machine code and PTX to compile.
    pub targets: Vec<Target>,
    /// `CUDNN_GUARD_ARCHS`, `the build script`, `the GPUs of this machine`, `the default`.
    pub chosen_by: String,
    /// What was noticed while choosing.
    pub findings: Vec<Finding>,
}
