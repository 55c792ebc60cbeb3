//! The checks of variables that request a place.

use crate::choice::context::CheckContext;
use crate::model::{Candidate, Kind, Names, Obstacle, Rejection, Variable};
use crate::reading::Scan;
use crate::reading::unusable_variables::Unusable;
use crate::runtime::facts::{Allowed, Finding};
use crate::search::search_step::{Place, Step};
use crate::system::files;
use crate::toolkit::nvcc::NvccFault;
use std::path::{Path, PathBuf};

/// A variable that requests a place without a usable installation.
pub struct UnusableVariable<'a> {
    pub context: &'a CheckContext<'a>,
    pub variable: Variable,
    pub kind: Kind,
    pub exists: bool,
    /// A directory that contains what was requested.
    pub nearby: Option<PathBuf>,
    pub missed: Vec<PathBuf>,
    pub fault: VariableFault<'a>,
}

/// The reason why no installation in a place can be used.
pub enum VariableFault<'a> {
    /// An inaccessible place, or a dangling link.
    Place(&'a Obstacle),
    /// An unusable library. `true` if its file is beside its link.
    Library(&'a Obstacle, bool),
    /// A path that cannot be printed for cargo, with the reason.
    UnprintablePath(&'static str),
    /// A toolkit that is only for these other targets.
    ForeignToolkit(&'a [String]),
    /// An nvcc that fails, with the help if its host compiler is the cause.
    Nvcc(&'a NvccFault, Option<&'a str>),
    /// The name of a program that is in none of these directories.
    NotOnPath(Vec<String>),
    NoProgram,
    Nonexistent,
    /// An archive in the place, or the place itself.
    Archive(&'a Path),
    /// A place without the requested kinds.
    NotInstalled {
        toolkit: bool,
        cudnn: bool,
    },
    NoLibrary,
}

/// Two variables that point to different installations of one kind. The first is used.
pub struct VariablesDisagree<'a> {
    pub first: &'a Candidate,
    pub other: &'a Candidate,
}

/// Returns `true` if a variable requests this kind in a place without an installation, and no earlier variable requests
/// an installation that was found.
pub fn is_blocked(steps: &[Step], scan: &Scan, kind: Kind) -> bool {
    let unusable = unusable_variables(steps, scan, kind);
    unusable.iter().any(|(_, before)| before.is_none())
}

/// Returns the variables that request this kind in a place without an installation. Each comes with the installation
/// that an earlier variable requests.
fn unusable_variables<'a>(
    steps: &'a [Step],
    scan: &'a Scan,
    kind: Kind,
) -> Vec<(&'a Unusable, Option<&'a Candidate>)> {
    let place = |variable| steps.iter().position(|step| step.request == Some(variable));
    let first = requested(scan, kind).first().copied();
    let with_earlier = |unusable: &'a Unusable| {
        let variable = unusable.variable;
        let is_requesting = |step: &Step| step.request == Some(variable) && step.kind == kind;
        let is_before = |first: &&Candidate| first.request.and_then(place) < place(variable);
        let all = steps.iter().any(is_requesting);
        all.then(|| (unusable, first.filter(is_before)))
    };
    scan.unusable.iter().filter_map(with_earlier).collect()
}

fn requested(scan: &Scan, kind: Kind) -> Vec<&Candidate> {
    let all = scan.candidates.iter();
    all.filter(|one| one.kind() == kind && one.request.is_some())
        .collect()
}

impl CheckContext<'_> {
    /// Returns the findings about a kind, and the fault that leaves the build without it. A variable that points to no
    /// installation is that fault, unless an earlier variable points to one. The search then adds no other.
    pub fn verdict(&self, kind: Kind, allowed: &Allowed) -> (Vec<Finding>, Option<Finding>) {
        let mut findings = self.disagreements(kind);
        let mut fault = None;
        for (unusable, before) in unusable_variables(self.steps, self.scan, kind) {
            match before {
                Some(_) => findings.push(self.unusable(unusable).finding()),
                None => findings.extend(fault.replace(self.unusable(unusable).finding())),
            }
        }
        if fault
            .as_ref()
            .is_none_or(|fault| allowed.contains(fault.id.as_str()))
        {
            findings.extend(fault);
            fault = self.fault(kind);
        }
        (findings, fault)
    }

    /// Returns the fault of a variable that names a place without an installation.
    fn unusable<'a>(&'a self, unusable: &'a Unusable) -> UnusableVariable<'a> {
        let (variable, exists) = (unusable.variable, unusable.exists);
        let value = self.value(variable);
        let all = self.steps.iter();
        let requesting: Vec<&Step> = all.filter(|step| step.request == Some(variable)).collect();
        let asks = |kind| requesting.iter().any(|step| step.kind == kind);
        let is_nvcc = |step: &&Step| matches!(step.place, Place::Nvcc(_));
        let requests_nvcc = requesting.iter().any(is_nvcc);
        let is_bare_name = requests_nvcc && !value.contains(['/', '\\']);
        let foreign = &unusable.foreign[..];
        let is_foreign = asks(Kind::Toolkit) && !foreign.is_empty();
        let fault = match (&unusable.obstacle, &unusable.reason, &unusable.archive) {
            (Some(obstacle), None, _) if !is_bare_name => VariableFault::Place(obstacle),
            _ if is_foreign => VariableFault::ForeignToolkit(foreign),
            (_, Some(fault), _) => VariableFault::Nvcc(fault, unusable.host_compiler.as_deref()),
            _ if is_bare_name => {
                VariableFault::NotOnPath(requesting.iter().map(|step| step.description()).collect())
            }
            _ if requests_nvcc && exists => VariableFault::NoProgram,
            _ if !exists => VariableFault::Nonexistent,
            (.., Some(archive)) => VariableFault::Archive(archive),
            _ => VariableFault::NotInstalled {
                toolkit: asks(Kind::Toolkit),
                cudnn: asks(Kind::Cudnn),
            },
        };
        let kind = match asks(Kind::Cudnn) {
            true => Kind::Cudnn,
            false => Kind::Toolkit,
        };
        let shown: &[&Step] = match fault {
            // These have evidence of their own.
            VariableFault::Place(_) | VariableFault::Nvcc(..) | VariableFault::NotOnPath(_) => &[],
            _ => &requesting,
        };
        let missed = shown
            .iter()
            .flat_map(|step| step.required_files(self.platform));
        // Links with the usual names may point to files for another CPU.
        let missed = missed.filter(|path| !files::exists(path));
        let nearby = unusable.nearby.clone();
        UnusableVariable {
            context: self,
            variable,
            kind,
            exists,
            nearby: nearby.or_else(|| self.elsewhere(variable, kind)),
            missed: files::dedup(missed),
            fault,
        }
    }

    /// Returns the directory of another installation that this variable could point to.
    fn elsewhere(&self, variable: Variable, kind: Kind) -> Option<PathBuf> {
        let is_unused = |one: &&Candidate| {
            let reason = &one.rejected;
            let is_usable = matches!(reason, None | Some(Rejection::AnotherPlaceRequested));
            one.kind() == kind && is_usable && !one.chosen && one.request.is_none()
        };
        let other = self.scan.candidates.iter().find(is_unused)?;
        match variable.names() == Some(Names::CudnnHeaders) {
            true => other.cudnn()?.include_dir.clone(),
            false => Some(other.root().to_path_buf()),
        }
    }

    /// Returns the libraries that are missing in the place that this variable points to.
    pub(super) fn missed_libraries(&self, variable: Variable) -> Vec<PathBuf> {
        let is_requesting =
            |step: &&Step| step.request == Some(variable) && step.kind == Kind::Cudnn;
        let steps = self.steps.iter().filter(is_requesting);
        let missed = steps.flat_map(|step| step.required_files(self.platform));
        files::dedup(missed.filter(|path| !path.ends_with("cudnn.h")))
    }

    /// Returns the warnings about variables that request different installations.
    fn disagreements(&self, kind: Kind) -> Vec<Finding> {
        let requested = requested(self.scan, kind);
        let [first, others @ ..] = &requested[..] else {
            return Vec::new();
        };
        let is_different = |other: &&&Candidate| {
            let same = matches!(other.rejected, Some(Rejection::SameAs(_)));
            // One variable points to the headers and the other to the libraries of the same installation.
            let header = |one: &Candidate| one.cudnn()?.header.clone();
            let together = header(first).is_some() && header(first) == header(other);
            !same && !together && other.request != first.request
        };
        let different = others.iter().filter(is_different);
        different
            .map(|other| VariablesDisagree { first, other }.finding())
            .collect()
    }

    pub fn value(&self, variable: Variable) -> String {
        let value = self.env.get(variable).unwrap_or_default();
        value.to_string_lossy().into_owned()
    }
}
