//! Targets for which a version of nvcc is known to compile wrong machine code.

use crate::compat;
use crate::model::chosen_by::ChosenBy;
use crate::model::target_list::add;
use crate::runtime::facts::compute_capability::{Code, ComputeCapability, Suffix, Target};
use crate::runtime::facts::version::Version;
use crate::targets::select::Selection;
use crate::targets::target_lists::machine;

const TABLE: &str = include_str!("../../build-support/compat/known-bad-nvcc.txt");

/// A target with wrong machine code.
pub struct Miscompiled {
    pub cuda: Version,
    pub target: Target,
    pub replacement: Target,
    /// The targets with the replacement.
    pub instead: Vec<Target>,
    pub chosen_by: ChosenBy,
    /// The report.
    pub source: &'static str,
}

/// Returns the fault if this version of nvcc compiles wrong code for a selected target. PTX is not affected, since the
/// driver compiles it.
pub fn check(cuda: Version, selection: &Selection) -> Option<Miscompiled> {
    let rows = compat::rows(TABLE, &|line| {
        let [from, below, bad, good, source] = compat::columns(line)?;
        let capability = |number: &str| Some(ComputeCapability::from_number(number.parse().ok()?));
        let (from, below) = (Version::parse(from)?, Version::parse(below)?);
        let applies = (from..below).contains(&cuda);
        applies.then_some((capability(bad)?, capability(good)?, source))
    });
    for (bad, good, source) in rows {
        let is_bad = |target: &Target| target.capability == bad && target.suffix == Suffix::None;
        let targets = selection.list.targets();
        let target = targets
            .iter()
            .find(|target| is_bad(target) && target.code == Code::Machine);
        let Some(target) = target.copied() else {
            continue;
        };
        let mut instead = Vec::new();
        for mut target in targets {
            if is_bad(&target) {
                target.capability = good;
            }
            add(&mut instead, target);
        }
        return Some(Miscompiled {
            cuda,
            target,
            replacement: machine(good),
            instead,
            chosen_by: selection.chosen_by,
            source,
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::dialect::Dialect;
    use crate::targets::select::select;
    use crate::targets::target_request::TargetRequest;

    fn text(cuda: (u32, u32, u32), targets: &str) -> Option<String> {
        let request = TargetRequest {
            from: ChosenBy::BuildScript,
            dialect: Dialect::Ours,
            text: targets.to_string(),
        };
        let selection = select(Some(&request), None, &[]).unwrap();
        let fault = check(Version::new(cuda.0, cuda.1, cuda.2), &selection)?;
        Some(fault.finding().to_string())
    }

    #[test]
    fn wrong_code_for_b300_is_reported_with_the_list_that_works() {
        assert_eq!(
            text((13, 2, 51), "90 103 103+PTX").unwrap(),
            "nvcc of CUDA 13.2 is known to compile wrong code for sm_103  [known-bad-release]\n  \
             = help: set CUDNN_GUARD_ARCHS=\"sm_90 sm_100 compute_100\": sm_100 runs on the same GPUs\n  \
             chosen by   the build script\n  \
             reported    Dao-AILab/causal-conv1d#105"
        );
        // The help works.
        assert_eq!(text((13, 2, 51), "sm_90 sm_100 compute_100"), None);
    }

    #[test]
    fn other_versions_and_targets_are_not_reported() {
        for cuda in [(12, 9, 0), (13, 0, 0), (13, 1, 1), (13, 3, 0), (14, 0, 0)] {
            assert_eq!(text(cuda, "103"), None, "{cuda:?}");
        }
        for targets in ["100", "compute_103", "90 110", "100f", "103a"] {
            assert_eq!(text((13, 2, 0), targets), None, "{targets}");
        }
    }
}
