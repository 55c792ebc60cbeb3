//! What is wrong with the configuration, and with the variables that ask for a place.

use crate::choice::findings::Situation;
use crate::choice::scan::Sight;
use crate::choice::select_pair::kind_of;
use crate::choice::unusable_variables::Unusable;
use crate::config::Config;
use crate::model::candidate::Candidate;
use crate::model::environment::Variable;
use crate::model::finding::Finding;
use crate::model::finding_id;
use crate::search::search_step::{Kind, Step};
use crate::system::{Host, files};

/// What is wrong with one kind: what was noticed, and the fault that leaves the build without it. A variable that leads
/// nowhere is a warning if one before it leads to something. Otherwise it is the fault, and the search adds none.
pub fn verdict(
    situation: &Situation,
    sight: &Sight,
    kind: Kind,
    allowed: &dyn Fn(&str) -> bool,
) -> (Vec<Finding>, Option<Finding>) {
    let mut noticed = situation.disagreements(kind);
    let mut fault = None;
    for (unusable, before) in unusable_variables(situation.steps, sight, kind) {
        match before {
            Some(first) => noticed.push(situation.idle(unusable.variable, first)),
            None => {
                let finding = situation.unusable(
                    unusable.variable,
                    (unusable.exists, unusable.forbidden),
                    unusable.nearby.as_deref(),
                    unusable.reason.as_ref(),
                );
                noticed.extend(fault.replace(finding));
            }
        }
    }
    match fault {
        Some(finding) if allowed(finding.id) => {
            noticed.push(finding);
            (noticed, situation.fault(kind))
        }
        Some(finding) => (noticed, Some(finding)),
        None => (noticed, situation.fault(kind)),
    }
}

/// Whether a variable asks for something of this kind in a place where nothing is, and none before it asks for a place
/// where there is something.
pub fn is_blocked(steps: &[Step], sight: &Sight, kind: Kind) -> bool {
    unusable_variables(steps, sight, kind).any(|(_, before)| before.is_none())
}

/// The variables that ask for something of this kind in a place where nothing is, each with what a variable before it
/// asks for and has found.
fn unusable_variables<'a>(
    steps: &'a [Step],
    sight: &'a Sight,
    kind: Kind,
) -> impl Iterator<Item = (&'a Unusable, Option<&'a Candidate>)> {
    let place = |variable| steps.iter().position(|step| step.wish == Some(variable));
    let wished = |candidate: &&Candidate| kind_of(candidate) == kind && candidate.wish.is_some();
    let first = sight.candidates.iter().find(wished);
    let asks = move |unusable: &&Unusable| {
        let mut steps = steps.iter();
        steps.any(|step| step.wish == Some(unusable.variable) && step.kind == kind)
    };
    sight.unusable.iter().filter(asks).map(move |unusable| {
        let before = first.filter(|first| first.wish.and_then(place) < place(unusable.variable));
        (unusable, before)
    })
}

/// Makes one fault of two with the same cause. cuDNN is looked for in the toolkit, too: if the variable that names the
/// toolkit leads nowhere, that may be why no cuDNN was found, and a list of all other places would hide it.
pub fn join(
    toolkit: Option<Finding>,
    cudnn: Option<Finding>,
    allowed: &dyn Fn(&str) -> bool,
) -> (Option<Finding>, Option<Finding>) {
    match (toolkit, cudnn) {
        (Some(cause), Some(other))
            if cause.id == "variable-unusable"
                && other.id == "cudnn-not-found"
                && !allowed(cause.id) =>
        {
            let cause = cause.with("cuDNN", "was looked for there too, and found nowhere else");
            (Some(cause), None)
        }
        apart => apart,
    }
}

/// What is wrong with the build script's configuration.
pub fn config_faults(config: &Config, host: &Host) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in config
        .allow
        .iter()
        .filter(|id| !finding_id::ALL.contains(&id.as_str()))
    {
        findings.push(
            Finding::error(
                "config-invalid",
                format!("`.allow({id:?})` names no finding"),
            )
            .help("copy the id from the brackets behind the headline that is to pass"),
        );
    }
    if let Some(root) = host.root.as_deref().filter(|root| !files::is_dir(root)) {
        findings.push(
            Finding::error(
                "config-invalid",
                format!("the root `{}` is not a directory", root.display()),
            )
            .help("name a directory that holds usr/ of the system to look at"),
        );
    }
    findings
}

/// Whether a finding may pass, by the build script or by the user.
pub fn is_allowed(config: &Config, host: &Host, id: &str) -> bool {
    let listed = host
        .env
        .var(Variable::GuardAllow.name())
        .unwrap_or_default();
    let mut named = listed
        .split([',', ' '])
        .chain(config.allow.iter().map(String::as_str));
    id != "config-invalid" && named.any(|name| name == id)
}

/// CUDA and cuDNN do not exist for a 32-bit target.
pub fn too_narrow(host: &Host) -> Option<Finding> {
    let instead = host.platform.instead_of_32_bit()?;
    let headline = format!(
        "this build is for {}, a 32-bit system, and CUDA and cuDNN exist for 64-bit ones only",
        host.platform.triple
    );
    Some(
        Finding::error("platform-unsupported", headline)
            .help(format!("build for {instead}"))
            .help("or call `.optional()` in build.rs, to build without"),
    )
}
