//! Algorithms and engines that refused a convolution, before another one took it or none did.

use crate::runtime::convolution::failure::{CaseFailure, Unserved};
use crate::runtime::cudnn::status;
use crate::runtime::facts::version::Version;

/// What was said of the algorithms or engines that were passed over; what shows a fault counts more than what shows
/// none, and what was said first more than what was said later.
pub struct PassedOver {
    version: Version,
    most: Option<CaseFailure>,
}

impl PassedOver {
    /// None yet.
    pub fn new(version: Version) -> Self {
        let most = None;
        Self { version, most }
    }

    /// Goes on, unless the GPU itself has failed.
    pub fn add(&mut self, failure: CaseFailure) -> Result<(), CaseFailure> {
        if failure.ends_the_context() {
            return Err(failure);
        }
        let major = self.version.major;
        let weight = |failure: &CaseFailure| match failure {
            CaseFailure::Cudnn(error) if error.is_mismatch(major) => 4,
            CaseFailure::Cudnn(error) if status::is_internal(error.status) => 3,
            CaseFailure::Cudnn(error) if !error.is_excused(major, true) => 2,
            CaseFailure::Unserved(_) => 0,
            _ => 1,
        };
        let most = self.most.as_ref().map(weight);
        if most.is_none_or(|most| weight(&failure) > most) {
            self.most = Some(failure);
        }
        Ok(())
    }

    /// What tells most.
    pub fn into_failure(self) -> CaseFailure {
        let none = || CaseFailure::Unserved(Unserved::NoEngine);
        self.most.unwrap_or_else(none)
    }
}
