//! What is wrong with the choice: why a kind is missing, or what the chosen one lacks.

use crate::choice::message_format::is_gone;
use crate::choice::pair::{Choice, defect, is_offered};
use crate::choice::requirement::{Requirement, Requirements};
use crate::choice::variable_findings::{UnusableVariable, VariableFault};
use crate::cudnn::consistency;
use crate::model::candidate::{Candidate, Cudnn};
use crate::model::environment::{Environment, Variable};
use crate::model::found_via::FoundVia;
use crate::model::kind::Kind;
use crate::model::owner::Owner;
use crate::model::platform::{Os, Platform};
use crate::model::rejection::Rejection;
use crate::reading::Scan;
use crate::runtime::facts::finding::Finding;
use crate::search::search_step::Step;

/// A candidate that the build cannot use.
pub enum CandidateFault<'a> {
    /// A variable requests a cuDNN for this CPU, which is not that of the platform.
    OtherCpu(&'a Candidate, &'static str, &'a Platform),
    /// A cuDNN without import library, such as the wheels for Windows from cuDNN 9 on.
    NoImportLibrary(&'a Candidate),
}

/// A candidate whose version does not meet the requirement.
pub struct UnmetRequirement<'a> {
    pub requirement: &'a Requirement,
    pub candidate: &'a Candidate,
    /// All others of its kind.
    pub others: Vec<&'a Candidate>,
    /// Another one that meets the requirement.
    pub better: Option<&'a Candidate>,
    /// The command that installs a version that meets the requirement.
    pub install: Option<String>,
}

/// A cuDNN with libraries and without complete headers.
pub struct MissingHeaders<'a> {
    pub cudnn: &'a Cudnn,
    pub via: &'a FoundVia,
    pub env: &'a Environment,
}

/// All that is known when the choice is made.
#[derive(Clone, Debug)]
pub struct CheckContext<'a> {
    pub env: &'a Environment,
    /// The system that is built for.
    pub platform: &'a Platform,
    /// The places that were searched.
    pub steps: &'a [Step],
    /// The candidates, each with the result of the choice.
    pub scan: &'a Scan,
    pub choice: &'a Choice,
    /// The requirements of the build script.
    pub requirements: &'a Requirements,
    /// The finding if nvcc and the headers of the best toolkit have different versions.
    pub skew: Option<Finding>,
}

impl CheckContext<'_> {
    /// Returns the best of this kind, even if it may not be used.
    pub fn best(&self, kind: Kind) -> Option<&Candidate> {
        self.scan.candidates.get(self.choice.of(kind)?)
    }

    /// Returns why there is nothing of this kind to use, or what is missing in what there is. None if all is well.
    pub fn fault(&self, kind: Kind) -> Option<Finding> {
        match self.best(kind) {
            Some(best) => match best.cudnn() {
                Some(cudnn) if cudnn.header.is_none() || cudnn.files.missing_header.is_some() => {
                    let (via, env) = (&best.via, self.env);
                    Some(MissingHeaders { cudnn, via, env }.finding())
                }
                _ => self.let_pass(kind, best),
            },
            None if kind == Kind::Toolkit && self.choice.misfit.is_some() => self.misfit(),
            None => Some(self.none_usable(kind)),
        }
    }

    /// Returns the finding if the best candidate does not meet the requirement, which is allowed.
    fn let_pass(&self, kind: Kind, chosen: &Candidate) -> Option<Finding> {
        let (asked, version) = (self.requirements.of(kind)?, chosen.version()?);
        (!asked.admits(version)).then(|| self.unmet(chosen, &[], asked))
    }

    /// Returns why nothing of this kind was chosen.
    fn none_usable(&self, kind: Kind) -> Finding {
        let of_kind = |one: &&Candidate| one.kind() == kind && !is_gone(one);
        let found = self.scan.candidates.iter().filter(of_kind);
        // What a variable asked for comes first, then the order of the search.
        let (mut found, others): (Vec<_>, Vec<_>) =
            found.partition(|candidate| candidate.request.is_some());
        found.extend(others);
        if let Some((first, by)) = found
            .first()
            .and_then(|first| Some((first, first.request?)))
        {
            if let Some(finding) = self.asked_unusable(first, by) {
                return finding;
            }
        }
        if let Some(asked) = self.requirements.of(kind) {
            let is_unmet = |candidate: &&&Candidate| {
                let version = candidate.version();
                candidate.is_usable() && version.is_some_and(|version| !asked.admits(version))
            };
            if let Some(first) = found.iter().find(is_unmet) {
                return self.unmet(first, &found, asked);
            }
        }
        let is_dll_alone = |one: &&&Candidate| {
            self.platform.os == Os::Windows
                && defect(one, self.platform) == Some(Rejection::NoImportLibrary)
        };
        match found.iter().find(is_dll_alone) {
            Some(first) => CandidateFault::NoImportLibrary(first).finding(),
            None => self.not_found(kind, &found),
        }
    }

    /// Returns why what this variable asked for cannot be used. Without a variable, a candidate for another CPU, with a
    /// damaged library or without one counts as missing.
    fn asked_unusable(&self, candidate: &Candidate, variable: Variable) -> Option<Finding> {
        let of_variable = |fault, missed| {
            let fault = UnusableVariable {
                context: self,
                variable,
                kind: Kind::Cudnn,
                exists: true,
                nearby: None,
                missed,
                fault,
            };
            Some(fault.finding())
        };
        match defect(candidate, self.platform)? {
            Rejection::OtherCpu(cpu) => {
                Some(CandidateFault::OtherCpu(candidate, cpu, self.platform).finding())
            }
            Rejection::UnprintablePath(part) => {
                of_variable(VariableFault::UnprintablePath(part), Vec::new())
            }
            Rejection::Damaged(..) => {
                let found = candidate.shown_path();
                let fault = consistency::unusable(candidate.cudnn()?, found, &candidate.via)?;
                Some(fault.finding())
            }
            Rejection::NoImportLibrary => {
                Some(CandidateFault::NoImportLibrary(candidate).finding())
            }
            Rejection::Obstructed(obstacle) => {
                let is_beside = candidate.cudnn()?.files.unlinked.is_some();
                of_variable(VariableFault::Library(&obstacle, is_beside), Vec::new())
            }
            Rejection::NoLibrary => {
                of_variable(VariableFault::NoLibrary, self.missed_libraries(variable))
            }
            _ => None,
        }
    }

    fn unmet(
        &self,
        candidate: &Candidate,
        found: &[&Candidate],
        requirement: &Requirement,
    ) -> Finding {
        let others = found.iter().copied();
        let others = others.filter(|other| !std::ptr::eq(*other, candidate));
        let meets = |other: &&Candidate| {
            let admits = |one| requirement.admits(one);
            is_offered(other, self.platform) && other.version().is_some_and(admits)
        };
        let install = |owner: &Owner| owner.install(requirement.from, requirement.below);
        let fault = UnmetRequirement {
            requirement,
            candidate,
            others: others.collect(),
            better: found.iter().copied().find(meets),
            install: owner(candidate).and_then(install),
        };
        fault.finding()
    }
}

/// Returns the package of a cuDNN.
pub fn owner(candidate: &Candidate) -> Option<&Owner> {
    candidate.cudnn()?.owner.as_deref()
}
