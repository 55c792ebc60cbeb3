//! Findings about the configuration.

use crate::config::Config;
use crate::host_compiler::{nvcc_itself, selection};
use crate::model::{Environment, Platform, Variable};
use crate::runtime::facts::Allowed;
use crate::system::{Host, files};
use crate::{Finding, FindingId};
use std::ffi::OsStr;
use std::path::Path;

pub enum ConfigFault<'a> {
    AllowedId(&'a str),
    NoRoot(&'a Path),
    /// A variable with a deadline that is not a number of seconds above 0.
    Deadline(&'a str, &'a OsStr),
    /// A 32-bit target, for which CUDA and cuDNN do not exist.
    NarrowTarget(&'a Platform),
    /// A toolkit that is needed but that the build did not require.
    NoToolkit,
    /// The report that CUDNN_GUARD_PRINT requests, as lines.
    Shown(&'a [&'a str]),
}

/// Returns the findings about the build script's configuration.
pub fn config_faults(config: &Config, host: &Host) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in &config.allow {
        if FindingId::parse(id).is_none() {
            findings.push(ConfigFault::AllowedId(id).finding());
        }
    }
    if let Some(path) = host.root.as_deref().filter(|root| !files::is_dir(root)) {
        findings.push(ConfigFault::NoRoot(path).finding());
    }
    let deadline = Variable::GuardProgramDeadline;
    if let (Some(value), None) = (host.env.get(deadline), host.env.program_deadline()) {
        let name = deadline.name();
        findings.push(ConfigFault::Deadline(name, value).finding());
    }
    findings
}

impl Config {
    /// Returns the findings that the user or the build script allows.
    pub(crate) fn allowed(&self, env: &Environment) -> Allowed {
        let listed = env.get(Variable::GuardAllow).unwrap_or_default();
        let mut allowed = Allowed::parse(&listed.to_string_lossy());
        for id in &self.allow {
            allowed = allowed.with(id);
        }
        allowed
    }
}

/// Returns the reason not to search: the build could not use any installation, or nvcc would never answer.
pub fn forbids_search(host: &Host) -> Option<Finding> {
    if host.platform.is_32_bit() {
        return Some(ConfigFault::NarrowTarget(&host.platform).finding());
    }
    let choice = selection::choice_of_nvcc(&host.env);
    Some(nvcc_itself(&choice, &[], host)?.finding())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::facts::Severity;

    #[test]
    fn the_allowed_ids_are_separated_by_commas_or_white_space() {
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
            assert!(allowed.contains(FindingId::parse(id).unwrap()), "{id}");
        }
        assert!(!allowed.contains(FindingId::NoGpu));
        assert!(allowed.unknown_ids().is_empty());
    }

    #[test]
    fn a_misspelled_allowed_id_is_corrected() {
        let help = |id| ConfigFault::AllowedId(id).finding().help;
        let use_id = "use the id in brackets after the headline".to_string();
        assert_eq!(
            help("parts-mixd"),
            [
                "write `.allow(\"parts-mixed\")` if that is what you mean".to_string(),
                use_id.clone()
            ]
        );
        assert_eq!(help("everything"), [use_id]);
    }

    #[test]
    fn an_allowed_error_names_who_allowed_it() {
        let env = Environment::new([("CUDNN_GUARD_ALLOW".to_string(), "parts-mixed".into())]);
        let allowed = Config::new().allow("parts-missing").allowed(&env);
        let mut findings = [
            FindingId::PartsMixed,
            FindingId::PartsMissing,
            FindingId::NoGpu,
        ]
        .map(|id| id.error("x"));
        allowed.apply(&mut findings);
        let [by_user, by_script, stays] = findings.map(|finding| finding.to_string());
        assert_eq!(
            by_user,
            "x  [parts-mixed]\n  allowed     by CUDNN_GUARD_ALLOW"
        );
        assert_eq!(
            by_script,
            "x  [parts-missing]\n  allowed     by `.allow(..)` in build.rs"
        );
        assert_eq!(stays, "x  [no-gpu]");
    }

    #[test]
    fn a_contradictory_build_script_is_never_allowed() {
        let config = Config::new()
            .root("/there/is/no/such/root")
            .allow("config-invalid")
            .env("CUDNN_GUARD_ALLOW", "config-invalid");
        let toolchain = config.survey();
        let stops = |finding: &&Finding| finding.severity == Severity::Error;
        let stopping: Vec<&str> = toolchain
            .findings()
            .iter()
            .filter(stops)
            .map(|one| one.id.as_str())
            .collect();
        assert_eq!(stopping, ["config-invalid"]);
    }
}
