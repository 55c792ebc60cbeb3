//! The check of the CUDA majors of toolkit and cuDNN.

use crate::choice::context::CheckContext;
use crate::choice::findings::owner;
use crate::choice::message_format::is_gone;
use crate::choice::pair::is_offered;
use crate::model::candidate::{Candidate, Found};
use crate::model::kind::Kind;
use crate::model::owner::Owner;
use crate::runtime::facts::finding::Finding;

/// A toolkit and a cuDNN that are for different CUDA majors.
pub struct CudaMismatch<'a> {
    pub toolkit: &'a Candidate,
    pub cudnn: &'a Candidate,
    /// The CUDA majors of toolkit and cuDNN.
    pub majors: (u32, u32),
    /// All other candidates.
    pub others: Vec<&'a Candidate>,
    /// A toolkit that is compatible with the cuDNN.
    pub compatible_toolkit: Option<&'a Candidate>,
    /// A cuDNN that is compatible with the toolkit.
    pub compatible_cudnn: Option<&'a Candidate>,
    /// The package of the cuDNN, and the command that installs it for the toolkit's CUDA.
    pub package: Option<(&'a Owner, String)>,
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
        let is_other = |other: &&Candidate| {
            let is_named = std::ptr::eq(*other, toolkit) || std::ptr::eq(*other, cudnn);
            !is_named && !is_gone(other)
        };
        let compatible = |kind: Kind| {
            let requirement = self.requirements.of(kind);
            let is_compatible = |other: &&Candidate| {
                let met = |version| requirement.is_none_or(|range| range.admits(version));
                is_offered(other, self.platform)
                    && other.version().is_some_and(met)
                    && match (kind, &other.found) {
                        (Kind::Toolkit, Found::Toolkit(found)) => {
                            found.version.map(|one| one.major) == Some(cudnn_major)
                        }
                        (Kind::Cudnn, Found::Cudnn(found)) => found.cuda_major == Some(cuda),
                        _ => false,
                    }
            };
            candidates.iter().find(is_compatible)
        };
        let owner = owner(cudnn);
        let package = owner.and_then(|owner| {
            let command = self.install_command(owner.installer, cuda)?;
            Some((owner, command))
        });
        let fault = CudaMismatch {
            toolkit,
            cudnn,
            majors: (cuda, cudnn_major),
            others: candidates.iter().filter(is_other).collect(),
            compatible_toolkit: compatible(Kind::Toolkit),
            compatible_cudnn: compatible(Kind::Cudnn),
            package,
        };
        Some(fault.finding())
    }
}
