//! Kernels that are written for newer GPUs than some of the targets.

use crate::model::chosen_by::ChosenBy;
use crate::model::text::joined;
use crate::runtime::facts::compute_capability::{ComputeCapability, Target};
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::targets::select::Selection;

/// Takes the targets below the minimum out, and says so; it is an error if none is left. A target of the default list is
/// left out with a note, since nobody wrote it.
pub fn apply(minimum: ComputeCapability, selection: &mut Selection) -> Option<Finding> {
    let below = |target: &Target| target.capability < minimum;
    let lost: Vec<Target> = selection.targets.iter().copied().filter(below).collect();
    if lost.is_empty() {
        return None;
    }
    selection.targets.retain(|target| !below(target));
    let lost = joined(lost, ", ");
    let summary = if selection.targets.is_empty() {
        format!(
            "these kernels need compute capability {minimum}, and there are only {lost} to compile for"
        )
    } else {
        format!("these kernels need compute capability {minimum} and are not compiled for {lost}")
    };
    let severity = match selection.chosen_by {
        _ if selection.targets.is_empty() => Severity::Error,
        ChosenBy::Default => Severity::Note,
        _ => Severity::Warning,
    };
    let finding = Finding::new(FindingId::KernelsNotCoveringGpu, severity, summary)
        .with("chosen by", selection.chosen_by);
    if severity != Severity::Error {
        return Some(finding);
    }
    let number = minimum.number();
    Some(
        finding
            .help(format!(
                "set CUDNN_GUARD_ARCHS={number}, and run the program on such a GPU or a newer one"
            ))
            .help("or switch the feature off that these kernels belong to"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::environment::Variable;
    use crate::toolkit::nvcc_output::parse_gpu_codes;

    /// CMP-11: kernels that need a newer GPU than some targets are compiled for the others.
    #[test]
    fn targets_below_the_minimum_are_left_out() {
        let minimum = ComputeCapability::new(8, 0);
        let chosen = |chosen_by, codes: &str| Selection {
            targets: parse_gpu_codes(codes),
            chosen_by,
            ..Selection::default()
        };
        let listed = ChosenBy::Variable(Variable::CudaArchs);
        let mut some = chosen(listed, "sm_75\nsm_80\nsm_61");
        let finding = apply(minimum, &mut some).unwrap();
        assert_eq!(some.targets, parse_gpu_codes("sm_80"));
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.to_string(),
            "these kernels need compute capability 8.0 and are not compiled for sm_61, sm_75  \
             [kernels-not-covering-gpu]\n  chosen by   CUDAARCHS"
        );
        let finding = apply(minimum, &mut chosen(ChosenBy::Default, "sm_75\nsm_80")).unwrap();
        assert_eq!(finding.severity, Severity::Note);
        assert_eq!(apply(minimum, &mut chosen(listed, "sm_80\nsm_120")), None);
        let finding = apply(minimum, &mut chosen(ChosenBy::Gpus, "sm_75")).unwrap();
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(
            finding.to_string(),
            "these kernels need compute capability 8.0, and there are only sm_75 to compile for  \
             [kernels-not-covering-gpu]\n  \
             = help: set CUDNN_GUARD_ARCHS=80, and run the program on such a GPU or a newer one\n  \
             = help: or switch the feature off that these kernels belong to\n  chosen by   the GPUs of this machine"
        );
    }
}
