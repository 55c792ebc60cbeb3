//! The checked request of a build script.

use crate::error::Error;
use crate::host_compiler::{cross_compiler, query};
use crate::kernels::link::device_link;
use crate::kernels::nvcc::missing::{self, UnusableToolkit};
use crate::kernels::{InvalidRequest, Kernels, product, target_flags, warn};
use crate::model::{CompilerChoice, Gencode, Os, TargetList};
use crate::runtime::facts::{ComputeCapability, Finding, Severity};
use crate::system::{Directive, nvcc_cannot_take};
use crate::targets::select::Selection;
use crate::toolchain::Toolchain;
use crate::toolkit::{Plan, Product, include_dirs};
use std::path::PathBuf;

impl<'a> Kernels<'a> {
    pub(super) fn plan(
        &self,
        product: Product,
        sources: &[PathBuf],
        lines: &mut Vec<Directive>,
    ) -> Result<(Plan<'a>, Vec<Gencode>), Error> {
        // nvcc would compile for both lists or for neither.
        if let Some(flag) = target_flags::first(&self.flags) {
            return Err(InvalidRequest::TargetFlag(flag).finding().into());
        }
        let watched = self.watched(lines)?;
        self.toolchain.require_toolkit()?;
        let is_linked = product == Product::Object;
        let mut refused: Vec<Finding> = Vec::new();
        if is_linked {
            refused.extend(missing::msvc(self.toolchain).map(|fault| fault.finding()));
        }
        self.toolchain.allowed.apply(&mut refused);
        let builder = self.toolchain.build_system();
        lines.extend(builder.map_or(Vec::new(), Toolchain::reruns));
        let Some(nvcc) = self.toolchain.nvcc() else {
            return Err(match refused.pop() {
                Some(refused) if refused.severity == Severity::Error => refused.into(),
                _ => UnusableToolkit::NoNvcc(self.toolchain, builder, sources)
                    .finding()
                    .into(),
            });
        };
        let added = target_flags::in_variables(&self.toolchain.host.env);
        refused.extend(added.map(|added| added.finding()));
        if is_linked {
            refused.extend(missing::runtime(self.toolchain).map(|fault| fault.finding()));
        }
        self.toolchain.allowed.apply(&mut refused);
        let targets = self.targets(product, refused, lines)?;
        let cudnn = self.toolchain.cudnn();
        let cudnn = cudnn.and_then(|cudnn| cudnn.include_dir.as_ref());
        let mut flags = device_link::with_rdc(&self.flags);
        flags.extend(cudnn.map(|dir| format!("-I{}", dir.display())));
        let host = &self.toolchain.host;
        let own = [nvcc.to_path_buf(), self.output_dir()?];
        // These characters are special to a Unix shell.
        if host.builder().os != Os::Windows {
            for path in [&own[..], sources, &include_dirs(&flags)].concat() {
                if let Some(sign) = nvcc_cannot_take(&path) {
                    return Err(UnusableToolkit::Path(&path, sign).finding().into());
                }
            }
        }
        let mut plan = query::plan(host, self.toolchain.toolkit(), nvcc, product, flags)
            .map_err(|fault| fault.finding())?;
        if plan.choice == CompilerChoice::Unset && is_linked {
            plan.ccbin = plan.ccbin.or_else(|| cross_compiler(host));
        }
        plan.optimisation = self.optimisation;
        plan.watched = watched;
        Ok((plan, targets))
    }

    /// Returns the targets of these kernels, or else those of the build. The findings are added to `findings`, or
    /// returned in an error.
    fn targets(
        &self,
        product: Product,
        findings: Vec<Finding>,
        lines: &mut Vec<Directive>,
    ) -> Result<Vec<Gencode>, Error> {
        let mut selection = self.toolchain.selection_for(&self.archs)?;
        if let Some(minimum) = self.minimum {
            let lost = remove_below(minimum, &mut selection);
            selection.findings.extend(lost.map(|lost| lost.finding()));
        }
        selection.findings.extend(findings);
        let findings = Error::split_findings(std::mem::take(&mut selection.findings))?;
        let targets = product::targets(product, &selection)?;
        for finding in &findings {
            if finding.severity == Severity::Warning {
                warn(&finding.to_string(), lines);
            }
        }
        Ok(targets)
    }
}

/// Removes the targets below a minimum.
fn remove_below(
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
    Some(InvalidRequest::BelowMinimum(
        minimum, lost, chosen_by, are_all,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ChosenBy, Variable};
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
        let finding = remove_below(minimum, &mut some).unwrap().finding();
        assert_eq!(some.list.targets(), parse_gpu_codes("sm_80"));
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.to_string(),
            "these kernels require compute capability 8.0 and are not compiled for sm_61, sm_75  \
             [kernels-not-covering-gpu]\n  chosen by   CUDAARCHS"
        );
        let finding = remove_below(minimum, &mut chosen(ChosenBy::Default, "sm_75\nsm_80"));
        let finding = finding.unwrap().finding();
        assert_eq!(finding.severity, Severity::Note);
        assert!(remove_below(minimum, &mut chosen(listed, "sm_80\nsm_120")).is_none());
        let finding = remove_below(minimum, &mut chosen(ChosenBy::Gpus, "sm_75"));
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
