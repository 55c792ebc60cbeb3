//! The refusals of algorithms and engines before another one computes a convolution.

use crate::runtime::convolution::{CaseFailure, Unsupported};
use crate::runtime::cudnn::status;
use crate::runtime::facts::Version;

/// The most important refusal so far: the clearest fault, or the first one among equals.
pub struct WorstRefusal {
    version: Version,
    worst: Option<CaseFailure>,
}

impl WorstRefusal {
    pub fn new(version: Version) -> Self {
        let worst = None;
        Self { version, worst }
    }

    /// Adds a refusal.
    ///
    /// # Errors
    /// The failure itself, if nothing can be computed after it.
    pub fn add(&mut self, failure: CaseFailure) -> Result<(), CaseFailure> {
        if failure.ends_the_context() {
            return Err(failure);
        }
        let major = self.version.major;
        let weight = |failure: &CaseFailure| match failure {
            CaseFailure::Cudnn(error) if error.is_mismatch(major) => 4,
            CaseFailure::Cudnn(error) if status::is_internal(error.status) => 3,
            CaseFailure::Cudnn(error) if !error.is_excused(major, true) => 2,
            CaseFailure::Unsupported(Unsupported::Rounds(_)) => 0,
            _ => 1,
        };
        let worst = self.worst.as_ref().map(weight);
        if worst.is_none_or(|worst| weight(&failure) > worst) {
            self.worst = Some(failure);
        }
        Ok(())
    }

    /// Returns the most important refusal.
    pub fn into_failure(self) -> CaseFailure {
        let none = || CaseFailure::Unsupported(Unsupported::NoEngine);
        self.worst.unwrap_or_else(none)
    }
}
