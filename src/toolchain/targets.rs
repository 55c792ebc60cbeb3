//! The GPU targets of kernels.

use crate::compat::rules;
use crate::error::Error;
use crate::model::{ChosenBy, Cudnn, TargetList};
use crate::system::Host;
use crate::targets::select::{Selection, SelectionNote};
use crate::targets::{Compiler, TargetRequest, gpus, miscompiled, select, target_request};
use crate::toolchain::Toolchain;
use crate::toolchain::environment_checks::compiler_skew;
use crate::toolkit::nvcc;
use crate::{Config, Finding, Target, Version};

impl Toolchain {
    /// Returns the targets of kernels, in numeric order. They are taken from the first of these that is set:
    /// `CUDNN_GUARD_ARCHS`, [`Config::archs`], `CUDAARCHS`, `TORCH_CUDA_ARCH_LIST`, `CUDA_COMPUTE_CAP`. If none is set,
    /// they are those of this machine's GPUs, or else [`Config::default_archs`], or else the first of each major that
    /// nvcc supports. Each variable has its own dialect. Without CUDA, the list is empty.
    ///
    /// # Errors
    /// `arch-unknown` if the list contains an invalid target, `arch-unsupported-by-nvcc` if nvcc does not support a target.
    pub fn targets(&self) -> Result<Vec<Target>, Error> {
        Ok(self.selection()?.list.targets())
    }

    /// Returns the list of targets, for conditions and for kernels that another build system compiles.
    ///
    /// # Errors
    /// Like [`targets`](Self::targets).
    pub fn target_list(&self) -> Result<TargetList, Error> {
        Ok(self.selection()?.list)
    }

    /// Returns one nvcc flag for each target: `-gencode=arch=compute_80,code=sm_80`.
    ///
    /// # Errors
    /// Like [`targets`](Self::targets).
    pub fn gencode_flags(&self) -> Result<Vec<String>, Error> {
        Ok(self.target_list()?.nvcc())
    }

    /// Adds the headers of the chosen CUDA and cuDNN to a C or C++ compilation. A build with `cuda(true)` also needs
    /// the flags from [`gencode_flags`](Self::gencode_flags), and runs the nvcc in the variable `NVCC`.
    pub fn apply_to(&self, build: &mut cc::Build) {
        build.includes(self.include_dirs());
    }

    /// Returns the targets and their origin. nvcc and the driver are queried only once.
    pub(crate) fn selection(&self) -> Result<Selection, Error> {
        let all = || self.select(&self.config.archs);
        self.selection.get_or_init(all).clone()
    }

    /// Returns the selection for kernels with their own targets. If the list is empty, returns the build's selection.
    pub(crate) fn selection_for(&self, archs: &[String]) -> Result<Selection, Error> {
        match archs {
            [] => self.selection(),
            archs => self.select(archs),
        }
    }

    fn select(&self, archs: &[String]) -> Result<Selection, Error> {
        if self.absent.is_some() {
            return Ok(Selection::default());
        }
        let request = target_request::request(&self.host.env, archs);
        let mut findings = Vec::new();
        let compiler = self.compiler(request.as_ref(), &mut findings);
        let mut selection = choose(
            &self.config,
            request.as_ref(),
            compiler.as_ref(),
            self.cuda_version(),
            self.cudnn(),
            &self.host,
            &mut findings,
        )?;
        selection.findings = findings;
        Ok(selection)
    }

    /// Returns the chosen nvcc with its targets. It is queried. If that fails, the targets are from the table of
    /// versions.
    pub(crate) fn compiler(
        &self,
        request: Option<&TargetRequest>,
        findings: &mut Vec<Finding>,
    ) -> Option<Compiler> {
        let toolkit = self.toolkit()?;
        findings.extend(self.compiler_skew());
        let Some(path) = self.nvcc() else {
            return Compiler::from_table(None, toolkit.version?);
        };
        let name = path.display().to_string();
        match nvcc::gpu_codes(path, &self.host.answers) {
            Ok(codes) => {
                let fallback = default_request(&self.config);
                let letters = if target_request::needs_letters(request.or(fallback.as_ref())) {
                    nvcc::lettered_codes(path, &self.host.answers)
                } else {
                    None
                };
                Some(Compiler::from_answer(&name, codes, letters))
            }
            Err(cause) => {
                let version = nvcc::version(path, &self.host.answers).ok();
                let known = version.and_then(|cuda| Compiler::from_table(Some(&name), cuda));
                let missing = nvcc::temporary_directory(&self.host.env);
                findings.push(cause.without_targets(missing, version.zip(known.as_ref())));
                known
            }
        }
    }

    /// Returns the finding about nvcc and headers of different versions. nvcc is queried only here, where it is needed
    /// anyway.
    fn compiler_skew(&self) -> Option<Finding> {
        let skew = compiler_skew(self.toolkit()?, &self.candidates, &self.host);
        let mut findings = [skew?];
        self.allowed.apply(&mut findings);
        let [skew] = findings;
        Some(skew)
    }
}

/// Selects the targets for a build, and for `cudnn-guard targets`. The GPUs of this machine are queried only if they
/// matter. The kernels are compiled for `cuda` and `cudnn`. All findings are added to `findings`.
pub(crate) fn choose(
    config: &Config,
    request: Option<&TargetRequest>,
    compiler: Option<&Compiler>,
    cuda: Option<Version>,
    cudnn: Option<&Cudnn>,
    host: &Host,
    findings: &mut Vec<Finding>,
) -> Result<Selection, Finding> {
    let (mut gpus, mut gpu_fault) = (Vec::new(), None);
    if target_request::needs_gpus(request) {
        match gpus::gpus(&host.env) {
            Ok(found) => gpus = found,
            Err(fault) => {
                findings.push(fault.finding());
                gpu_fault = Some(fault);
            }
        }
    }
    let is_supported =
        |gpu| cudnn.is_none_or(|cudnn| rules::may_support(cudnn, gpu, &host.platform));
    let fallback = default_request(config).filter(|_| gpus.is_empty());
    let mut selection = match request.or(fallback.as_ref()) {
        Some(request) => select::select(Some(request), compiler, &gpus)
            .map_err(|problem| problem.finding(request, gpu_fault.as_ref()))?,
        None => select::default_targets(compiler, &gpus, &is_supported),
    };
    findings.append(&mut selection.findings);
    let is_release = host.env.var("PROFILE") == Some("release");
    if !gpus.is_empty() && is_release {
        let targets = selection.list.targets();
        let left_out = select::left_out(&targets, compiler);
        findings.extend(left_out.map(|note| note.finding()));
    }
    if config.embed_ptx {
        selection.list.embed_ptx();
    }
    let targets = selection.list.targets();
    if is_release && !selection.list.has_ptx() {
        findings.push(SelectionNote::NoPtx(&targets).finding());
    }
    findings.extend(miscompiled::check(cuda, &selection));
    if let Some(cudnn) = cudnn {
        let by = selection.chosen_by;
        findings.extend(rules::targets(cudnn, &targets, by, &host.platform));
    }
    Ok(selection)
}

/// Returns the request of [`Config::default_archs`].
fn default_request(config: &Config) -> Option<TargetRequest> {
    target_request::script_request(ChosenBy::BuildScriptDefault, &config.default_archs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::driver::query::{Driver, DriverProblem};
    use crate::targets::dialect::Dialect;
    use crate::targets::gpus::GpuQueryFault;

    #[test]
    fn native_without_a_gpu_reports_the_drivers_error() {
        let request = TargetRequest {
            from: ChosenBy::BuildScript,
            dialect: Dialect::Ours,
            text: "native".to_string(),
        };
        let fault = GpuQueryFault::Driver(DriverProblem::Stub(Driver {
            library: "/stubs/libcuda.so.1".to_string(),
            ..Driver::default()
        }));
        let compiler = Compiler::from_table(None, Version::new(11, 8, 0));
        let none = select::select(Some(&request), compiler.as_ref(), &[]).unwrap_err();
        assert_eq!(
            none.finding(&request, Some(&fault)).to_string(),
            "no GPU was detected, but the build script requests `native`  [no-gpu]\n  \
             = help: set CUDNN_GUARD_ARCHS=\"sm_35 sm_50 sm_60 sm_70 sm_80 sm_90 compute_90\", or a subset\n  \
             found       the build script: \"native\"\n  \
             driver      `/stubs/libcuda.so.1` is a link-time stub, not NVIDIA's driver, so no GPU is available"
        );
    }
}
