//! The checks of variables that request a place.

use crate::choice::CheckContext;
use crate::model::{Candidate, Kind, Names, Rejection, Variable};
use crate::reading::Scan;
use crate::reading::unusable_variables::UnusableVariable;
use crate::runtime::facts::{Allowed, Finding};
use crate::search::Step;
use crate::system::files;
use std::path::PathBuf;

/// Returns `true` if a variable requests this kind in a place without an installation, and no earlier variable requests
/// an installation that was found.
pub fn is_blocked(scan: &Scan, kind: Kind) -> bool {
    let unusable = unusable_variables(scan, kind);
    unusable.iter().any(|(_, is_later)| !is_later)
}

/// Returns the variables that request this kind in a place without an installation. `true` if an earlier variable
/// requests an installation that was found.
fn unusable_variables(scan: &Scan, kind: Kind) -> Vec<(&UnusableVariable, bool)> {
    let steps = &scan.steps;
    let place = |variable| steps.iter().position(|step| step.request == Some(variable));
    let first = requested(scan, kind)
        .first()
        .and_then(|first| place(first.request?));
    let mut found = Vec::new();
    for unusable in &scan.unusable {
        let variable = unusable.variable;
        let is_requesting = |step: &Step| step.request == Some(variable) && step.kind == kind;
        if steps.iter().any(is_requesting) {
            let is_later = first.is_some_and(|first| Some(first) < place(variable));
            found.push((unusable, is_later));
        }
    }
    found
}

fn requested(scan: &Scan, kind: Kind) -> Vec<&Candidate> {
    scan.candidates_with(&|one| one.kind() == kind && one.request.is_some())
}

impl CheckContext<'_> {
    /// Returns the findings about a kind, and the fault that leaves the build without it. A variable that points to no
    /// installation is that fault, unless an earlier variable points to one. The search then adds no other.
    pub fn verdict(&self, kind: Kind, allowed: &Allowed) -> (Vec<Finding>, Option<Finding>) {
        let mut findings = self.disagreements(kind);
        let mut fault = None;
        for (unusable, is_later) in unusable_variables(self.scan, kind) {
            let finding = unusable.finding(self, self.elsewhere(unusable));
            match is_later {
                true => findings.push(finding),
                false => findings.extend(fault.replace(finding)),
            }
        }
        if fault
            .as_ref()
            .is_none_or(|fault| allowed.contains(fault.id))
        {
            findings.extend(fault);
            fault = self.fault(kind);
        }
        (findings, fault)
    }

    /// Returns the directory of another installation that this variable could point to.
    fn elsewhere(&self, unusable: &UnusableVariable) -> Option<PathBuf> {
        let is_unused = |one: &&Candidate| {
            let is_usable = one.rejected == Some(Rejection::AnotherPlaceRequested);
            one.kind() == unusable.kind && is_usable && one.request.is_none()
        };
        let other = self.scan.candidates.iter().find(is_unused)?;
        match unusable.variable.names() == Some(Names::CudnnHeaders) {
            true => other.cudnn()?.include_dir.clone(),
            false => Some(other.root().to_path_buf()),
        }
    }

    /// Returns the libraries that are missing in the place that this variable points to.
    pub(super) fn missed_libraries(&self, variable: Variable) -> Vec<PathBuf> {
        let mut missed = Vec::new();
        for step in &self.scan.steps {
            if step.request == Some(variable) && step.kind == Kind::Cudnn {
                missed.append(&mut step.required_files(self.platform));
            }
        }
        files::keep(&mut missed, &|path| !path.ends_with("cudnn.h"));
        files::dedup(missed.into_iter())
    }

    /// Returns the warnings about variables that request different installations.
    fn disagreements(&self, kind: Kind) -> Vec<Finding> {
        let mut findings = Vec::new();
        let requested = requested(self.scan, kind);
        let [first, others @ ..] = &requested[..] else {
            return Vec::new();
        };
        for other in others {
            let same = matches!(other.rejected, Some(Rejection::SameAs(_)));
            // One variable points to the headers and the other to the libraries of the same installation.
            let header = |one: &Candidate| one.cudnn()?.header.clone();
            let together = header(first).is_some() && header(first) == header(other);
            if !same && !together && other.request != first.request {
                findings.push(first.disagreement(other));
            }
        }
        findings
    }

    pub fn value(&self, variable: Variable) -> String {
        let value = self.env.get(variable).unwrap_or_default();
        value.to_string_lossy().into_owned()
    }
}
