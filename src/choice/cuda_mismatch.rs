//! The finding for a toolkit and a cuDNN that are for different CUDA majors.

use crate::choice::findings::{CheckContext, owner};
use crate::choice::message_format::{also, found_via, is_gone, named, product, with_alternatives};
use crate::choice::pair::is_offered;
use crate::model::candidate::{Candidate, Found};
use crate::model::kind::Kind;
use crate::model::owner::{Installer, Owner};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;

impl CheckContext<'_> {
    /// Returns the finding if toolkit and cuDNN are for different CUDA majors. If the toolkit itself consists of two
    /// versions, that is the cause.
    pub fn misfit(&self) -> Option<Finding> {
        let (toolkit, cudnn) = self.choice.misfit?;
        if self.skew.is_some() {
            return self.skew.clone();
        }
        let candidates = &self.scan.candidates;
        let (toolkit, cudnn) = (candidates.get(toolkit)?, candidates.get(cudnn)?);
        let major = cudnn.cudnn()?.cuda_major?;
        let theirs = toolkit.version()?.major;
        let mut others = Vec::new();
        for other in candidates {
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
        let finding = finding
            .with("found via", via)
            .with_lines("owner", owner(cudnn));
        let finding = finding.with_lines("also found", others);
        // If one that fits was found, the help names it.
        let fitting = |kind: Kind| {
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
            candidates.iter().find(fits)
        };
        let place = |found: Option<&Candidate>, what: String| match found {
            Some(other) => format!("`{}`", other.root().display()),
            None => format!("the directory of {what}"),
        };
        let (fitting_cudnn, fitting_toolkit) = (fitting(Kind::Cudnn), fitting(Kind::Toolkit));
        let what = format!("a cuDNN that was built for CUDA {theirs}");
        let place_of_cudnn = place(fitting_cudnn, what);
        let place_of_toolkit = place(fitting_toolkit, format!("a toolkit of CUDA {major}"));
        let mut helps = vec![
            format!("set CUDNN_PATH to {place_of_cudnn}"),
            format!("set CUDA_HOME to {place_of_toolkit}"),
        ];
        if fitting_cudnn.is_none() {
            // What lies on this machine goes before what would have to be installed.
            if fitting_toolkit.is_some() {
                helps.reverse();
            }
            let at = usize::from(fitting_toolkit.is_some());
            helps.splice(at..at, self.other_package(owner(cudnn), theirs));
        }
        Some(with_alternatives(finding, helps))
    }

    /// Returns the help that replaces the package by that for this CUDA. Two wheels of cuDNN share one directory, so the
    /// old one has to be removed first.
    fn other_package(&self, owner: Option<&Owner>, cuda: u32) -> Option<String> {
        let owner = owner?;
        let command = self.install_command(owner.installer, cuda)?;
        match owner.installer {
            Installer::Pip => Some(format!(
                "install the wheel for CUDA {cuda} in its place: `pip uninstall -y {} && {command}`",
                owner.name
            )),
            Installer::Conda => Some(format!("install the build for CUDA {cuda}: `{command}`")),
            Installer::Apt => Some(format!("install the package for CUDA {cuda}: `{command}`")),
        }
    }
}
