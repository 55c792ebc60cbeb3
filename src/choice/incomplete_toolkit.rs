//! The check of the components of the toolkit.

use crate::choice::context::CheckContext;
use crate::choice::pair::is_complete;
use crate::model::{Candidate, Kind, Platform, Toolkit};
use crate::runtime::facts::Finding;

/// A chosen toolkit without nvcc, headers or libraries.
pub struct PartialToolkit<'a> {
    pub candidate: &'a Candidate,
    pub toolkit: &'a Toolkit,
    /// The missing components: `nvcc`, `headers`, `libraries`.
    pub lacks: Vec<&'static str>,
    pub platform: &'a Platform,
    pub is_cross: bool,
    /// A complete toolkit that was not chosen.
    pub complete: Option<&'a Candidate>,
}

impl CheckContext<'_> {
    /// Returns the finding if the chosen toolkit is incomplete. It is not an error here: kernels that need a compiler
    /// report that themselves, and a build with its own bindings needs no headers.
    pub fn partial(&self) -> Option<Finding> {
        let candidate = self.best(Kind::Toolkit)?;
        let toolkit = candidate.toolkit()?;
        let mut lacks = toolkit.missing_components();
        let host = self.env.var("HOST").unwrap_or(&self.platform.triple);
        // A toolkit of the build system compiles for other systems.
        if host != self.platform.triple {
            lacks.retain(|component| *component != "nvcc");
        }
        if lacks.is_empty() {
            return None;
        }
        // A complete toolkit was rejected because of a variable that requests this one, or because of the cuDNN.
        let is_other = |other: &&Candidate| other.toolkit().is_some() && is_complete(other);
        let fault = PartialToolkit {
            candidate,
            toolkit,
            lacks,
            platform: self.platform,
            is_cross: !host.starts_with(self.platform.cpu.as_str()),
            complete: self.scan.candidates.iter().find(is_other),
        };
        Some(fault.finding())
    }
}
