//! What is wrong: with what the build script says, and with what its machine has.

use crate::choice::findings::Situation;
use crate::choice::scan::Sight;
use crate::choice::select_pair::kind_of;
use crate::config::Config;
use crate::model::allowed::Allowed;
use crate::model::candidate::Candidate;
use crate::model::environment::{Environment, Variable};
use crate::model::finding::Finding;
use crate::model::finding_id;
use crate::search::search_step::{Kind, Step};
use crate::system::{Host, files};

/// What is wrong with one kind: unusable variables that another wish makes harmless are warnings; else the first of
/// them is the fault, and what the search says after it counts no more.
pub fn verdict(
    situation: &Situation,
    sight: &Sight,
    kind: Kind,
    allowed: &Allowed,
) -> (Vec<Finding>, Option<Finding>) {
    let mut noticed = situation.disagreements(kind);
    let place = |variable| {
        situation
            .steps
            .iter()
            .position(|step| step.wish == Some(variable))
    };
    let wished = |candidate: &&Candidate| kind_of(candidate) == kind && candidate.wish.is_some();
    let first = situation.candidates.iter().find(wished);
    let mut fault = None;
    for unusable in &sight.unusable {
        let asks = |step: &&Step| step.wish == Some(unusable.variable) && step.kind == kind;
        if !situation.steps.iter().any(|step| asks(&step)) {
            continue;
        }
        let before = first.filter(|first| first.wish.and_then(place) < place(unusable.variable));
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
        Some(finding) if allowed.contains(finding.id) => {
            noticed.push(finding);
            (noticed, situation.fault(kind))
        }
        Some(finding) => (noticed, Some(finding)),
        None => (noticed, situation.fault(kind)),
    }
}

/// cuDNN is looked for in the toolkit too. While the variable that names the toolkit leads nowhere, that no cuDNN was
/// found may be of the same cause, and all the places where it was looked for would only hide that.
pub fn join(
    toolkit: Option<Finding>,
    cudnn: Option<Finding>,
    allowed: &Allowed,
) -> (Option<Finding>, Option<Finding>) {
    match (toolkit, cudnn) {
        (Some(cause), Some(other))
            if cause.id == "variable-unusable"
                && other.id == "cudnn-not-found"
                && !allowed.contains(cause.id) =>
        {
            let cause = cause.with("cuDNN", "was looked for there too, and found nowhere else");
            (Some(cause), None)
        }
        apart => apart,
    }
}

/// What the build script says that cannot be.
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

impl Config {
    /// What may pass, by the user or by the build script.
    pub(crate) fn allowed(&self, env: &Environment) -> Allowed {
        let listed = env.get(Variable::GuardAllow).unwrap_or_default();
        let by_user = Allowed::parse(&listed.to_string_lossy());
        let ids = self.allow.iter();
        ids.fold(by_user, |allowed, id| allowed.with(id))
    }
}

/// That there is nothing to look for: the target is a 32-bit one.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::finding::Severity;

    #[test]
    fn the_list_of_what_may_pass_has_commas_or_any_white_space() {
        let listed = "parts-mixed,parts-missing\tcuda-not-found\n nvcc-failed,";
        let env = Environment::new([("CUDNN_GUARD_ALLOW".to_string(), listed.into())]);
        let allowed = Config::new().allow("io-error").allowed(&env);
        for id in [
            "parts-mixed",
            "parts-missing",
            "cuda-not-found",
            "nvcc-failed",
            "io-error",
        ] {
            assert!(allowed.contains(id), "{id}");
        }
        assert!(!allowed.contains("no-gpu") && !allowed.contains(""));
    }

    #[test]
    fn a_warning_that_was_an_error_names_who_let_it_pass() {
        let env = Environment::new([("CUDNN_GUARD_ALLOW".to_string(), "parts-mixed".into())]);
        let allowed = Config::new().allow("parts-missing").allowed(&env);
        let mut findings =
            ["parts-mixed", "parts-missing", "no-gpu"].map(|id| Finding::error(id, "x"));
        allowed.apply(&mut findings);
        let [by_user, by_script, stays] = findings.map(|finding| finding.to_string());
        assert_eq!(
            by_user,
            "x  [parts-mixed]\n  let pass    by CUDNN_GUARD_ALLOW"
        );
        assert_eq!(
            by_script,
            "x  [parts-missing]\n  let pass    by `.allow(..)` in build.rs"
        );
        assert_eq!(stays, "x  [no-gpu]");
    }

    #[test]
    fn a_build_script_that_contradicts_itself_never_passes() {
        let config = Config::new()
            .root("/there/is/no/such/root")
            .allow("config-invalid")
            .env([("CUDNN_GUARD_ALLOW", "config-invalid")]);
        let toolchain = config.survey();
        let stops = |finding: &&Finding| finding.severity == Severity::Error;
        let stopping: Vec<&str> = toolchain
            .findings()
            .iter()
            .filter(stops)
            .map(|one| one.id)
            .collect();
        assert_eq!(stopping, ["config-invalid"]);
    }
}
