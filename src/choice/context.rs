//! The input and the result of the choice, for all checks of it.

use crate::choice::pair::Choice;
use crate::choice::requirement::Requirements;
use crate::model::{Candidate, Environment, Kind, Platform};
use crate::reading::Scan;
use crate::runtime::facts::Finding;

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
