//! The minimum compute capability of kernels.

use crate::kernels::InvalidRequest;
use crate::model::{Gencode, TargetList};
use crate::runtime::facts::ComputeCapability;
use crate::targets::select::Selection;

/// Removes the targets below the minimum.
pub fn apply(
    minimum: ComputeCapability,
    selection: &mut Selection,
) -> Option<InvalidRequest<'static>> {
    let gencodes = selection.list.gencodes().iter().copied();
    let (lost, kept): (Vec<Gencode>, Vec<Gencode>) =
        gencodes.partition(|gencode| gencode.target.capability < minimum);
    if lost.is_empty() {
        return None;
    }
    let (lost, chosen_by) = (TargetList::new(lost).targets(), selection.chosen_by);
    let are_all = kept.is_empty();
    selection.list = TargetList::new(kept);
    Some(match are_all {
        true => InvalidRequest::AllBelowMinimum(minimum, lost, chosen_by),
        false => InvalidRequest::SomeBelowMinimum(minimum, lost, chosen_by),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ChosenBy, Variable};
    use crate::runtime::facts::Severity;
    use crate::toolkit::nvcc_output::parse_gpu_codes;

    /// Kernels that need a newer GPU than some targets are compiled for the others.
    #[test]
    fn targets_below_the_minimum_are_left_out() {
        let minimum = ComputeCapability::new(8, 0);
        let chosen = |chosen_by, codes: &str| Selection {
            list: TargetList::new(
                parse_gpu_codes(codes)
                    .into_iter()
                    .map(Gencode::plain)
                    .collect(),
            ),
            chosen_by,
            ..Selection::default()
        };
        let listed = ChosenBy::Variable(Variable::CudaArchs);
        let mut some = chosen(listed, "sm_75\nsm_80\nsm_61");
        let finding = apply(minimum, &mut some).unwrap().finding();
        assert_eq!(some.list.targets(), parse_gpu_codes("sm_80"));
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.to_string(),
            "these kernels require compute capability 8.0 and are not compiled for sm_61, sm_75  \
             [kernels-not-covering-gpu]\n  chosen by   CUDAARCHS"
        );
        let finding = apply(minimum, &mut chosen(ChosenBy::Default, "sm_75\nsm_80"));
        let finding = finding.unwrap().finding();
        assert_eq!(finding.severity, Severity::Note);
        assert!(apply(minimum, &mut chosen(listed, "sm_80\nsm_120")).is_none());
        let finding = apply(minimum, &mut chosen(ChosenBy::Gpus, "sm_75"));
        let finding = finding.unwrap().finding();
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(
            finding.to_string(),
            "these kernels require compute capability 8.0, but the only targets are sm_75  \
             [kernels-not-covering-gpu]\n  \
             = help: set CUDNN_GUARD_ARCHS=80, and run the program on a GPU of that or a higher capability\n  \
             = help: disable the feature that these kernels belong to\n  chosen by   the GPUs of this machine"
        );
    }
}
