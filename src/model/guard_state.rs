//! What the guard of a build is about.

use crate::runtime::facts::built::Built;
use crate::runtime::facts::compute_capability::Target;

/// What a build script has done so far that its guard is about.
#[derive(Debug, Default)]
pub struct GuardState {
    /// What kernels were compiled to, in order, each once.
    pub targets: Vec<Target>,
    /// The guard that was written, and whether it stands alone.
    pub written: Option<(Built, bool)>,
}

impl GuardState {
    /// Notes more targets that kernels were compiled to.
    pub fn note(&mut self, targets: impl Iterator<Item = Target>) {
        self.targets.extend(targets);
        self.targets.sort();
        self.targets.dedup();
    }
}
