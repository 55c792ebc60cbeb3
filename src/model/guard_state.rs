//! What the guard of a build is about.

use crate::runtime::facts::built::Built;
use crate::runtime::facts::compute_capability::Target;
use std::collections::BTreeSet;

/// What a build script has done so far that its guard is about.
#[derive(Debug, Default)]
pub struct GuardState {
    /// What kernels were compiled to.
    pub targets: BTreeSet<Target>,
    /// The guard that was written, and whether it stands alone.
    pub written: Option<(Built, bool)>,
}
