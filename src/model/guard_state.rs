use crate::model::target_list::add;
use crate::runtime::facts::built::Built;
use crate::runtime::facts::compute_capability::Target;

/// The build script's actions so far that its guard reports.
#[derive(Debug, Default)]
pub struct GuardState {
    /// The targets of all compiled kernels, sorted and without duplicates.
    pub targets: Vec<Target>,
    /// The guard that was written, and `true` if it is standalone.
    pub written: Option<(Built, bool)>,
}

impl GuardState {
    /// Adds targets of compiled kernels.
    pub fn note(&mut self, targets: impl Iterator<Item = Target>) {
        for target in targets {
            add(&mut self.targets, target);
        }
    }
}
