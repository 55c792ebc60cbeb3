//! The finding for a toolkit and a cuDNN that are for different CUDA majors.

use crate::choice::findings::{Situation, linkable, owner};
use crate::choice::message_format::{also, found_via, is_gone, named, product, root_of};
use crate::choice::requirement::Requirement;
use crate::choice::select_pair::{kind_of, version_of};
use crate::model::candidate::{Candidate, Cudnn, Found};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::search::search_step::Kind;

impl Situation<'_> {
    pub(super) fn misfit(&self) -> Option<Finding> {
        let (toolkit, cudnn) = self.choice.misfit?;
        let (toolkit, cudnn) = (self.candidates.get(toolkit)?, self.candidates.get(cudnn)?);
        let Found::Cudnn(Cudnn {
            cuda_major: Some(major),
            ..
        }) = &cudnn.found
        else {
            return None;
        };
        let theirs = version_of(toolkit)?.major;
        let others: Vec<String> = self
            .candidates
            .iter()
            .filter(|other| !std::ptr::eq(*other, toolkit) && !std::ptr::eq(*other, cudnn))
            .filter(|other| !is_gone(other))
            .map(|other| format!("{} {}", product(other), also(other)))
            .collect();
        let mut finding = Finding::error(
            FindingId::CudaFlavourMismatch,
            format!(
                "{} was built for CUDA {major}, and the toolkit is {}",
                named(cudnn),
                named(toolkit)
            ),
        )
        .with(
            "found via",
            format!("{}\n{}", found_via(cudnn), found_via(toolkit)),
        );
        if let Some(owner) = owner(cudnn) {
            finding = finding.with("owner", owner);
        }
        if !others.is_empty() {
            finding = finding.with("also found", others.join("\n"));
        }
        // If one that fits was found, the help names it.
        let fitting = |kind, asked: Option<&Requirement>| {
            self.candidates.iter().find(|other| {
                let met = |version| asked.is_none_or(|asked| asked.admits(version));
                kind_of(other) == kind
                    && linkable(other)
                    && version_of(other).is_some_and(met)
                    && match &other.found {
                        Found::Toolkit(found) => found.version.map(|one| one.major) == Some(*major),
                        Found::Cudnn(found) => found.cuda_major == Some(theirs),
                    }
            })
        };
        let place = |other: Option<&Candidate>, what: String| match other {
            Some(other) => format!("`{}`", root_of(other).display()),
            None => format!("the directory of {what}"),
        };
        let cudnn = place(
            fitting(Kind::Cudnn, self.requirements.cudnn.as_ref()),
            format!("a cuDNN that was built for CUDA {theirs}"),
        );
        let toolkit = place(
            fitting(Kind::Toolkit, self.requirements.cuda.as_ref()),
            format!("a toolkit of CUDA {major}"),
        );
        Some(
            finding
                .help(format!("set CUDNN_PATH to {cudnn}"))
                .help(format!("or set CUDA_HOME to {toolkit}")),
        )
    }

    /// The finding if toolkit and cuDNN are for different CUDA majors, where the build needs both.
    pub fn flavour(&self) -> Option<Finding> {
        self.choice.toolkit?;
        self.misfit()
    }
}
