//! Targets for which a version of nvcc is known to compile wrong machine code.

use crate::model::target_list::add;
use crate::runtime::facts::{ComputeCapability, Finding, Version};
use crate::targets::select::Selection;
use crate::targets::target_lists::{machine, ptx};

/// B300 and GB300.
const B300: ComputeCapability = ComputeCapability::new(10, 3);

/// Returns the finding if this version of nvcc compiles wrong code for a selected target. CUDA 13.2 does so for
/// [`B300`]: kernels of causal-conv1d return wrong results, observed with V13.2.51. PTX is not affected, because the
/// driver compiles it. https://github.com/Dao-AILab/causal-conv1d/issues/105
pub fn check(cuda: Option<Version>, selection: &Selection) -> Option<Finding> {
    let cuda = cuda?;
    let targets = selection.list.targets();
    if (cuda.major, cuda.minor) != (13, 2) || !targets.contains(&machine(B300)) {
        return None;
    }
    let mut instead = Vec::new();
    for mut target in targets {
        if [machine(B300), ptx(B300)].contains(&target) {
            target.capability = ComputeCapability::new(10, 0);
        }
        add(&mut instead, target);
    }
    Some(selection.miscompiled_finding(&instead))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ChosenBy;
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
        let cuda = Version::new(cuda.0, cuda.1, cuda.2);
        Some(check(Some(cuda), &selection)?.to_string())
    }

    #[test]
    fn wrong_code_for_b300_is_reported_with_a_working_list() {
        assert_eq!(
            text((13, 2, 51), "90 103 103+PTX").unwrap(),
            "nvcc 13.2 has a known bug: it generates wrong code for sm_103  [known-bad-release]\n  \
             = help: set CUDNN_GUARD_ARCHS=\"sm_90 sm_100 compute_100\": sm_100 runs on the same GPUs\n  \
             chosen by   the build script\n  \
             issue       Dao-AILab/causal-conv1d#105"
        );
        // The list in the help has no fault.
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
