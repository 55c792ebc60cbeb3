//! The check of the CUDA majors of toolkit and cuDNN.

use crate::choice::CheckContext;
use crate::choice::pair::is_offered;
use crate::model::{Candidate, Found, Kind, Owner};
use crate::runtime::facts::Finding;
use crate::runtime::install::package_owner;
use std::path::Path;

/// A toolkit and a cuDNN that are for different CUDA majors.
pub struct CudaMismatch<'a> {
    pub toolkit: &'a Candidate,
    pub cudnn: &'a Candidate,
    /// The CUDA majors of toolkit and cuDNN.
    pub majors: (u32, u32),
    pub others: Vec<&'a Candidate>,
    pub compatible_toolkit: Option<&'a Candidate>,
    /// A cuDNN that is compatible with the toolkit.
    pub compatible_cudnn: Option<&'a Candidate>,
    /// The package of the cuDNN, and the command that installs it for the toolkit's CUDA.
    pub package: Option<(&'a Owner, String)>,
    /// The help for keeping the wheel for the toolkit's CUDA, if another wheel has overwritten its files.
    pub overwritten: Option<String>,
}

impl CheckContext<'_> {
    /// Returns the finding if toolkit and cuDNN are for different CUDA majors. If the toolkit itself contains two
    /// versions, returns the finding about the toolkit, which is the cause.
    pub fn mismatch(&self) -> Option<Finding> {
        let (toolkit, cudnn) = self.choice.mismatch?;
        if self.skew.is_some() {
            return self.skew.clone();
        }
        let candidates = &self.scan.candidates;
        let (toolkit, cudnn) = (candidates.get(toolkit)?, candidates.get(cudnn)?);
        let cudnn_major = cudnn.cudnn()?.cuda_major?;
        let cuda = toolkit.version()?.major;
        let is_other = |other: &Candidate| {
            !std::ptr::eq(other, toolkit) && !std::ptr::eq(other, cudnn) && !other.is_gone()
        };
        let compatible = |kind: Kind| {
            let requirement = self.requirements.get(kind);
            let is_compatible = |other: &&Candidate| {
                let met = |version| requirement.is_none_or(|range| range.admits(version));
                let is_for_other = match &other.found {
                    Found::Toolkit(found) => found.version.is_some_and(|v| v.major == cudnn_major),
                    Found::Cudnn(found) => found.cuda_major == Some(cuda),
                };
                other.kind() == kind
                    && is_for_other
                    && is_offered(other, self.platform)
                    && other.version().is_some_and(met)
            };
            candidates.iter().find(is_compatible)
        };
        let install = |of: &Owner| {
            let fetch = of.fetch_command(&format!(" --cuda {cuda}"));
            fetch.or_else(|| self.requirements.install_cudnn(of.installer, cuda))
        };
        let owner = cudnn.owner();
        let library = cudnn.cudnn().and_then(|cudnn| cudnn.library.as_deref());
        let dir = library.and_then(Path::parent);
        let fault = CudaMismatch {
            toolkit,
            cudnn,
            majors: (cuda, cudnn_major),
            others: self.scan.candidates_with(&is_other),
            compatible_toolkit: compatible(Kind::Toolkit),
            compatible_cudnn: compatible(Kind::Cudnn),
            package: owner.and_then(|owner| Some((owner, install(owner)?))),
            overwritten: dir.and_then(|dir| package_owner::keep_help(dir, cuda)),
        };
        Some(fault.finding())
    }
}
