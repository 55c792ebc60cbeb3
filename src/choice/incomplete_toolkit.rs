//! The rule for a toolkit that lacks a part.

use crate::choice::findings::CheckContext;
use crate::choice::pair::is_whole;
use crate::model::candidate::{Candidate, Toolkit};
use crate::model::kind::Kind;
use crate::model::platform::Platform;
use crate::runtime::facts::finding::Finding;

/// A chosen toolkit without nvcc, headers or libraries.
pub struct PartialToolkit<'a> {
    pub candidate: &'a Candidate,
    pub toolkit: &'a Toolkit,
    /// The system that is built for.
    pub platform: &'a Platform,
    /// `true` if that is not the system of this machine.
    pub is_cross: bool,
    /// A complete toolkit that was not chosen.
    pub complete: Option<&'a Candidate>,
}

impl CheckContext<'_> {
    /// Returns the finding if the chosen toolkit is incomplete. That is no error here: kernels that need a compiler report
    /// it themselves, and a build that brings its own bindings needs no headers.
    pub fn partial(&self) -> Option<Finding> {
        let candidate = self.best(Kind::Toolkit)?;
        let toolkit = candidate.toolkit()?;
        if toolkit.missing_components().is_empty() {
            return None;
        }
        let host = self.env.var("HOST").unwrap_or(&self.platform.triple);
        // A whole one was passed over because a variable asks for this one, or because it does not fit the cuDNN.
        let is_complete = |other: &&Candidate| other.toolkit().is_some() && is_whole(other);
        let fault = PartialToolkit {
            candidate,
            toolkit,
            platform: self.platform,
            is_cross: !host.starts_with(self.platform.cpu.as_str()),
            complete: self.scan.candidates.iter().find(is_complete),
        };
        Some(fault.finding())
    }
}
