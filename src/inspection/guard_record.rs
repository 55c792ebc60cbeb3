//! The facts of a guard, read back from its record.

use crate::model::text::pattern::{Pattern, pattern, release};
use crate::runtime::facts::built::{Built, Loader, Policy, Requirement};
use crate::runtime::facts::compute_capability::Target;
use crate::runtime::facts::tables::Tables;
use crate::runtime::facts::version::Version;
use crate::targets::dialect;
use crate::targets::dialect::{Dialect, Word};

/// What one crate of the program was built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardRecord {
    /// The crate: `app 0.1.0`.
    pub package: Option<String>,
    /// The release of cudnn-guard that wrote it.
    pub written_by: String,
    /// The facts, as the guard in the program has them. The tables are not among them: those of this program are newer
    /// or as good.
    pub built: Built,
    /// What was noticed when it was built: severity, id, headline.
    pub noticed: Vec<String>,
}

/// Reads a record; none where it lacks what every guard writes.
pub fn read(text: String) -> Option<GuardRecord> {
    // The rules are those of a program, which has its facts for ever.
    let text: &'static str = text.leak();
    let values = |name: &'static str| {
        text.lines().filter_map(move |line| {
            let (known, value) = line.split_once(' ')?;
            (known == name).then_some(value)
        })
    };
    let value = |name| values(name).next();
    let numbers = |name| value(name).and_then(version);
    let policy = match value("policy")? {
        "compatible" => Policy::Compatible,
        "same-minor" => Policy::SameMinor,
        "exact" => Policy::Exact,
        "requirement" => Policy::Requirement,
        _ => return None,
    };
    let loader = match value("loader")? {
        "linked" => Loader::Linked,
        "dlopen" => Loader::Dlopen,
        "cudarc" => Loader::Cudarc,
        "static" => Loader::Static,
        _ => return None,
    };
    let requirement = value("requirement").and_then(|text| {
        Some(Requirement {
            text,
            from: numbers("from")?,
            below: numbers("below"),
        })
    });
    Some(GuardRecord {
        package: value("crate").map(String::from),
        written_by: value("guard").unwrap_or_default().into(),
        built: Built {
            cudnn: numbers("cudnn"),
            cudnn_cuda_major: value("cudnn-cuda").and_then(|major| major.parse().ok()),
            cuda: numbers("cuda"),
            requirement,
            policy,
            loader,
            cudarc: numbers("cudarc"),
            targets: targets(value("targets").unwrap_or_default()).leak(),
            needs: value("needs")
                .unwrap_or_default()
                .split_whitespace()
                .collect::<Vec<_>>()
                .leak(),
            convolution: value("convolution") != Some("false"),
            require_gpu: value("require-gpu") == Some("true"),
            findings: &[],
            tables: Tables::NONE,
            absent: value("absent"),
            linked_in: None,
        },
        noticed: values("finding").map(String::from).collect(),
    })
}

fn version(text: &str) -> Option<Version> {
    static NUMBERS: Pattern = Pattern::new(|| pattern(r"^([0-9]+)\.([0-9]+)(?:\.([0-9]+))?$"));
    release(&NUMBERS, text)
}

fn targets(text: &str) -> Vec<Target> {
    let words = dialect::read(Dialect::Ours, text).unwrap_or_default();
    let targets = words.into_iter().flat_map(|word| match word {
        Word::Targets(targets) => targets,
        _ => Vec::new(),
    });
    targets.map(|gencode| gencode.target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_later_guard_may_add_is_passed_over() {
        let text = "guard 0.9.0\ncolour blue\ncrate app 0.1.0\ncudnn 9.14.0\ncuda 13.0\nrequirement >=9.1, <10\n\
            from 9.1.0\nbelow 10.0.0\npolicy compatible\nloader linked\ntargets sm_80 compute_90a\n\
            needs adv conv3d-bf16\nfinding warning parts-missing a b\nodd\n";
        let read = read(text.into()).unwrap();
        assert_eq!(read.package.as_deref(), Some("app 0.1.0"));
        assert_eq!(read.built.cudnn, Some(Version::new(9, 14, 0)));
        assert_eq!(read.built.cuda, Some(Version::new(13, 0, 0)));
        let asked = read.built.requirement.unwrap();
        assert_eq!(asked.text, ">=9.1, <10");
        assert_eq!(asked.below, Some(Version::new(10, 0, 0)));
        let targets: Vec<String> = read.built.targets.iter().map(Target::to_string).collect();
        assert_eq!(targets, ["sm_80", "compute_90a"]);
        assert_eq!(read.built.needs, ["adv", "conv3d-bf16"]);
        assert_eq!(read.noticed, ["warning parts-missing a b"]);
    }

    #[test]
    fn a_policy_that_nobody_knows_yet_is_not_guessed_at() {
        assert_eq!(read("policy newer\nloader linked\n".into()), None);
        assert_eq!(read("policy exact\n".into()), None);
    }
}
