//! Chooses a toolkit and a cuDNN, and explains why none can be used.

pub mod cuda_mismatch;
pub mod findings;
pub mod not_found;
pub mod pair;
pub mod requirement;
pub mod variable_findings;

pub use requirement::{Requirement, Requirements};

use crate::model::{Candidate, Environment, Kind, Platform};
use crate::reading::Scan;
use crate::runtime::facts::Finding;
use pair::Choice;

/// The input and the result of the choice, for all checks of it.
pub struct CheckContext<'a> {
    pub env: &'a Environment,
    pub platform: &'a Platform,
    /// The candidates have the result of the choice.
    pub scan: &'a Scan,
    pub choice: &'a Choice,
    pub requirements: &'a Requirements,
    /// `true` if the terminal program searches.
    pub is_survey: bool,
    /// The finding about an nvcc whose version differs from the headers of the best toolkit.
    pub skew: Option<Finding>,
}

impl CheckContext<'_> {
    /// Returns the best candidate of this kind, even if it cannot be used.
    pub fn best(&self, kind: Kind) -> Option<&Candidate> {
        self.scan.candidates.get(self.choice.best(kind)?)
    }
}
