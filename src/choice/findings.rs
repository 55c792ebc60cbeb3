//! The findings about the choice.

use crate::choice::pair::{defect, is_complete, is_offered};
use crate::choice::{CheckContext, Requirement};
use crate::cudnn::headers;
use crate::model::{Candidate, Kind, Os, Owner, Rejection};
use crate::reading::unusable_variables::{UnusableVariable, VariableFault};
use crate::runtime::facts::{Finding, FindingId, quoted};

impl CheckContext<'_> {
    /// Returns the finding if no candidate of this kind can be used, or if the best one is incomplete.
    pub fn fault(&self, kind: Kind) -> Option<Finding> {
        match self.best(kind) {
            Some(best) => match best.cudnn() {
                Some(cudnn) if cudnn.header.is_none() || cudnn.files.missing_header.is_some() => {
                    Some(cudnn.without_headers(&best.via, self.env))
                }
                // A version that does not meet the requirement was allowed.
                _ => {
                    let (requirement, version) = (self.requirements.get(kind)?, best.version()?);
                    (!requirement.admits(version)).then(|| self.unmet(best, &[], requirement))
                }
            },
            None if kind == Kind::Toolkit && self.choice.mismatch.is_some() => self.mismatch(),
            None => Some(self.none_usable(kind)),
        }
    }

    fn none_usable(&self, kind: Kind) -> Finding {
        let is_its = |one: &Candidate| one.kind() == kind && !one.is_gone();
        let mut found = self.scan.candidates_with(&is_its);
        // Requested candidates come first, then the others in search order.
        found.sort_by_key(|one| one.request.is_none());
        let unusable = found.first().and_then(|one| self.requested_unusable(one));
        if let Some(finding) = unusable {
            return finding;
        }
        let requirement = self.requirements.get(kind);
        let is_admitted = |one: &Candidate| match (requirement, one.version()) {
            (Some(requirement), Some(version)) => requirement.admits(version),
            _ => true,
        };
        if let Some(requirement) = requirement {
            let is_unmet = |one: &&&Candidate| one.is_usable() && !is_admitted(one);
            if let Some(first) = found.iter().find(is_unmet) {
                return self.unmet(first, &found, requirement);
            }
        }
        let is_dll_only = |one: &&&Candidate| {
            self.platform.os == Os::Windows
                && is_admitted(one)
                && defect(one, self.platform) == Some(Rejection::NoImportLibrary)
        };
        if let Some(first) = found.iter().find(is_dll_only) {
            return first.without_import_library();
        }
        let damaged = found.iter().find_map(|one| one.damaged_finding());
        let damaged = damaged.filter(|finding| finding.id == FindingId::LibraryDamaged);
        damaged.unwrap_or_else(|| self.not_found(kind, &found))
    }

    /// Returns the finding if the requested candidate cannot be used. A candidate that is not requested counts as
    /// missing if it is for another CPU or has no library.
    fn requested_unusable(&self, candidate: &Candidate) -> Option<Finding> {
        let variable = candidate.request?;
        let of_variable = |fault, missed| {
            let fault = UnusableVariable {
                variable,
                kind: Kind::Cudnn,
                exists: true,
                nearby: None,
                missed,
                fault,
            };
            Some(fault.finding(self, None))
        };
        match defect(candidate, self.platform)? {
            Rejection::OtherCpu(cpu) => Some(candidate.for_other_cpu(cpu, self.platform)),
            Rejection::UnprintablePath(part) => {
                of_variable(VariableFault::UnprintablePath(part), Vec::new())
            }
            Rejection::Damaged(..) => candidate.damaged_finding(),
            Rejection::NoImportLibrary => Some(candidate.without_import_library()),
            Rejection::Obstructed(obstacle) => {
                let is_beside = candidate.cudnn()?.files.unlinked.is_some();
                of_variable(VariableFault::Library(obstacle, is_beside), Vec::new())
            }
            Rejection::NoLibrary => {
                of_variable(VariableFault::NoLibrary, self.missed_libraries(variable))
            }
            _ => None,
        }
    }

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
        let complete = self.scan.candidates.iter().find(is_other);
        let is_cross = !host.starts_with(self.platform.cpu.as_str());
        Some(candidate.incomplete_finding(toolkit, &lacks, self.platform, is_cross, complete))
    }

    fn unmet(
        &self,
        candidate: &Candidate,
        found: &[&Candidate],
        requirement: &Requirement,
    ) -> Finding {
        let mut others = Vec::new();
        for &other in found {
            if !std::ptr::eq(other, candidate) {
                others.push(other);
            }
        }
        let admits = |version| requirement.admits(version);
        let meets = |other: &&&Candidate| {
            is_offered(other, self.platform) && other.version().is_some_and(admits)
        };
        let install = |owner: &Owner| owner.install(requirement.from, requirement.below);
        let header = candidate.cudnn().and_then(|cudnn| cudnn.header.as_deref());
        let other = header.and_then(|header| headers::alternative(header, &admits));
        let other = other.map(|other| {
            let other = quoted(&other.to_string_lossy());
            format!("sudo update-alternatives --set libcudnn {other}")
        });
        let install = other.or_else(|| candidate.owner().and_then(install));
        let better = found.iter().find(meets).copied();
        requirement.unmet_finding(self, candidate, &others, better, install)
    }
}
