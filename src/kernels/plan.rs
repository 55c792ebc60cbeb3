//! The checked request of a build script, and what all of its files share.

use crate::error::Error;
use crate::host_compiler::compiler_choice::{self, Choice};
use crate::host_compiler::query::{cross_compiler, nvcc_itself, visual_studio};
use crate::kernels::file_options::FileOptions;
use crate::kernels::inputs::toolchain_fingerprint;
use crate::kernels::link::device_link;
use crate::kernels::nvcc::missing::{self, UnusableToolkit};
use crate::kernels::nvcc::wrapper::NvccWrapper;
use crate::kernels::{Kernels, min_capability, product, target_flags, warn};
use crate::model::{Candidate, Gencode, Os, Toolkit, Variable};
use crate::runtime::facts::{Finding, Severity};
use crate::system::directive::Directive;
use crate::system::path_encoding::nvcc_cannot_take;
use crate::toolchain::Toolchain;
use crate::toolkit::nvcc_command::{Plan, Product, include_dirs};
use std::path::{Path, PathBuf};

/// A plan and the programs that it runs.
pub struct Setup<'a> {
    pub plan: Plan<'a>,
    /// nvcc and the programs that it runs.
    pub programs: Vec<PathBuf>,
    /// The fingerprint of `programs`.
    pub tools: String,
    /// The toolkits that were not chosen.
    pub others: Vec<&'a Toolkit>,
    pub wrapper: Option<NvccWrapper>,
}

impl<'a> Setup<'a> {
    /// Fingerprints the programs that this plan will run.
    pub fn new(plan: Plan<'a>, toolchain: &'a Toolchain) -> Self {
        let candidates = toolchain.candidates.iter();
        let others = candidates.filter(|other| !other.is_chosen());
        let programs = toolchain_fingerprint::programs(&plan);
        Self {
            tools: toolchain_fingerprint::state(&plan, &programs),
            programs,
            others: others.filter_map(Candidate::toolkit).collect(),
            wrapper: NvccWrapper::find(&toolchain.host.env),
            plan,
        }
    }
}

impl<'a> Kernels<'a> {
    pub(super) fn plan(
        &self,
        product: Product,
        sources: &[PathBuf],
        lines: &mut Vec<Directive>,
    ) -> Result<(Plan<'a>, Vec<Gencode>), Error> {
        if let Some(fault) = target_flags::refused(&self.common.flags) {
            return Err(fault.finding().into());
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
        let Some(nvcc) = self.toolchain.nvcc().map(Path::to_path_buf) else {
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
        let targets = self.targets(product, &self.common, refused, lines)?;
        let cudnn = self.toolchain.cudnn();
        let cudnn = cudnn.and_then(|cudnn| cudnn.include_dir.as_ref());
        let mut flags = device_link::with_rdc(&self.common.flags);
        flags.extend(cudnn.map(|dir| format!("-I{}", dir.display())));
        let host = &self.toolchain.host;
        let own = [nvcc.clone(), self.output_dir()?];
        // These characters are special to a Unix shell.
        if host.builder().os != Os::Windows {
            for path in [&own[..], sources, &include_dirs(&flags)].concat() {
                if let Some(sign) = nvcc_cannot_take(&path) {
                    return Err(UnusableToolkit::Path(&path, sign).finding().into());
                }
            }
        }
        let mut choice = compiler_choice::choice(&host.env, &flags);
        match (nvcc_itself(&choice, &flags, host), &choice) {
            // Other tools use CXX too, and it may name Kokkos's `nvcc_wrapper`.
            (Some(_), Choice::Variable(Variable::Cxx, _)) => choice = Choice::Unset,
            (Some(fault), _) => return Err(fault.finding().into()),
            (None, _) => {}
        }
        let (mut ccbin, env) = compiler_choice::ccbin(&choice, &host.platform, visual_studio);
        if choice == Choice::Unset && is_linked {
            ccbin = ccbin.or_else(|| cross_compiler(host));
        }
        let plan = Plan {
            host,
            toolkit: self.toolchain.toolkit(),
            ccbin,
            env,
            nvcc,
            product,
            flags,
            optimisation: self.optimisation,
            watched,
            is_gcc: false,
        };
        Ok((plan, targets))
    }

    /// Returns the targets in the options, or else those of the build. The findings are added to `findings`, or returned in
    /// an error.
    pub(super) fn targets(
        &self,
        product: Product,
        options: &FileOptions,
        findings: Vec<Finding>,
        lines: &mut Vec<Directive>,
    ) -> Result<Vec<Gencode>, Error> {
        let mut selection = self.toolchain.selection_for(&options.archs)?;
        if let Some(minimum) = options.minimum {
            let lost = min_capability::apply(minimum, &mut selection);
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
