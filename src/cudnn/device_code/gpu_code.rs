//! The targets of all sub-libraries of a cuDNN together.

use crate::runtime::facts::{Code, Target};

/// Returns the targets that every sub-library supports. If one contains `sm_90` and another `sm_90a`, the narrower one
/// is returned. A sub-library without any device code is ignored.
pub fn common(parts: &[Vec<Target>]) -> Vec<Target> {
    let parts: Vec<_> = parts.iter().filter(|part| !part.is_empty()).collect();
    let mut all: Vec<Target> = parts.iter().copied().flatten().copied().collect();
    all.sort();
    all.dedup();
    let is_common = |target: &Target| parts.iter().all(|part| part.contains(target));
    let common: Vec<Target> = all.iter().copied().filter(is_common).collect();
    all.retain(|target| {
        let is_narrower = || parts.iter().all(|part| is_covered(*target, part));
        common.contains(target) || !is_covered(*target, &common) && is_narrower()
    });
    all
}

/// Returns `true` if the code in `by` runs on every GPU that the target runs on.
fn is_covered(target: Target, by: &[Target]) -> bool {
    let covers = |one: &Target| {
        one.code == target.code && one.suffix <= target.suffix && one.runs_on(target.capability)
    };
    by.iter().any(covers)
}

/// Formats targets for messages: `8.0 9.0a, PTX 12.0, read from its sub-libraries`.
pub fn describe(targets: &[Target]) -> String {
    let (mut machine, mut pieces) = (Vec::new(), Vec::new());
    for target in targets {
        let number = format!("{}{}", target.capability, target.suffix.letter());
        match target.code {
            Code::Machine => machine.push(number),
            Code::Ptx => pieces.push(format!("PTX {number}")),
        }
    }
    if !machine.is_empty() {
        pieces.insert(0, machine.join(" "));
    }
    format!("{}, read from its sub-libraries", pieces.join(", "))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::model::joined;

    /// Formats targets as in the tables: `sm_80 sm_90a compute_120`.
    pub fn format_targets(targets: &[Target]) -> String {
        let (ptx, machine): (Vec<&Target>, Vec<&Target>) =
            targets.iter().partition(|target| target.code == Code::Ptx);
        joined([machine, ptx].concat(), " ")
    }

    fn common_targets(parts: &[&str]) -> String {
        let parts: Vec<Vec<Target>> = parts.iter().map(|part| Target::parse_all(part)).collect();
        format_targets(&common(&parts))
    }

    #[test]
    fn a_gpu_is_supported_if_every_core_sub_library_supports_it() {
        // 9.10.2 for CUDA 12.
        let adv = "sm_50 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_90a sm_100 sm_120 compute_120";
        let ops = "sm_50 sm_60 sm_61 sm_70 sm_80 sm_90a sm_100 sm_120 compute_120";
        assert_eq!(common_targets(&[adv, ops, adv]), ops);
        assert_eq!(common_targets(&[ops, ""]), ops);
        assert_eq!(common_targets(&["", ""]), "");
        assert_eq!(common_targets(&[]), "");
        // 8.9.7 for Windows has PTX in one sub-library that the others do not have.
        assert_eq!(
            common_targets(&["sm_80 compute_90", "sm_80 compute_86 compute_90"]),
            "sm_80 compute_90"
        );
    }

    #[test]
    fn the_narrower_of_different_suffixes_is_common() {
        for (one, other, common) in [
            ("sm_90", "sm_90a", "sm_90a"),
            ("sm_100", "sm_100f", "sm_100f"),
            ("sm_100f", "sm_100a", "sm_100a"),
            ("sm_100f", "sm_103", ""),
            ("sm_100f", "sm_103f", "sm_103f"),
            ("sm_86", "sm_80", "sm_86"),
            ("sm_80", "sm_90", ""),
            ("compute_90", "compute_120", "compute_120"),
            ("compute_90", "sm_90", ""),
        ] {
            assert_eq!(common_targets(&[one, other]), common, "{one}, {other}");
            assert_eq!(common_targets(&[other, one]), common, "{other}, {one}");
        }
    }

    #[test]
    fn messages_contain_compute_capabilities() {
        let text = |words: &str| describe(&Target::parse_all(words));
        assert_eq!(
            text("sm_75 sm_90a sm_100f compute_90 compute_120f"),
            "7.5 9.0a 10.0f, PTX 9.0, PTX 12.0f, read from its sub-libraries"
        );
        assert_eq!(text("compute_90"), "PTX 9.0, read from its sub-libraries");
    }
}
