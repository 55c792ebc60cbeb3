//! The finding for a toolkit and a cuDNN that are for different CUDA majors.

use crate::choice::findings::{CheckContext, owner};
use crate::choice::message_format::{also, found_via, is_gone, named, product, with_lines};
use crate::choice::select_pair::is_offered;
use crate::model::candidate::{Candidate, Found};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::search::search_step::Kind;

impl CheckContext<'_> {
    /// The finding if toolkit and cuDNN are for different CUDA majors. Where the toolkit itself is of two releases, that
    /// is why.
    pub fn misfit(&self) -> Option<Finding> {
        let (toolkit, cudnn) = self.choice.misfit?;
        if let Some(skew) = self.skew {
            return Some(skew.clone());
        }
        let (toolkit, cudnn) = (self.candidates.get(toolkit)?, self.candidates.get(cudnn)?);
        let major = cudnn.cudnn()?.cuda_major?;
        let theirs = toolkit.version()?.major;
        let mut others = Vec::new();
        for other in self.candidates {
            let is_named = std::ptr::eq(other, toolkit) || std::ptr::eq(other, cudnn);
            if !is_named && !is_gone(other) {
                others.push(format!("{} {}", product(other), also(other)));
            }
        }
        let headline = format!(
            "{} was built for CUDA {major}, and the toolkit is {}",
            named(cudnn),
            named(toolkit)
        );
        let via = format!("{}\n{}", found_via(cudnn), found_via(toolkit));
        let finding = Finding::error(FindingId::CudaFlavourMismatch, headline);
        let finding = with_lines(finding.with("found via", via), "owner", owner(cudnn));
        let finding = with_lines(finding, "also found", others);
        // If one that fits was found, the help names it.
        let place = |kind: Kind, what: String| {
            let asked = self.requirements.of(kind);
            let fits = |other: &&Candidate| {
                let met = |version| asked.is_none_or(|asked| asked.admits(version));
                is_offered(other, self.platform)
                    && other.version().is_some_and(met)
                    && match (kind, &other.found) {
                        (Kind::Toolkit, Found::Toolkit(found)) => {
                            found.version.map(|one| one.major) == Some(major)
                        }
                        (Kind::Cudnn, Found::Cudnn(found)) => found.cuda_major == Some(theirs),
                        _ => false,
                    }
            };
            match self.candidates.iter().find(fits) {
                Some(other) => format!("`{}`", other.root().display()),
                None => format!("the directory of {what}"),
            }
        };
        let what = format!("a cuDNN that was built for CUDA {theirs}");
        let cudnn = place(Kind::Cudnn, what);
        let toolkit = place(Kind::Toolkit, format!("a toolkit of CUDA {major}"));
        let finding = finding.help(format!("set CUDNN_PATH to {cudnn}"));
        Some(finding.help(format!("or set CUDA_HOME to {toolkit}")))
    }
}
