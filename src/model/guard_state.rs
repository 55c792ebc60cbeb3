use crate::runtime::facts::{Built, Target};

/// The build script's actions that its guard reports.
#[derive(Debug, Default)]
pub struct GuardState {
    /// The targets of all compiled kernels, sorted and without duplicates.
    pub targets: Vec<Target>,
    pub written: Option<Built>,
}
