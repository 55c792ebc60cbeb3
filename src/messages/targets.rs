//! Target lists, and the GPUs of this machine.

use crate::model::{Gencode, joined};
use crate::runtime::driver::Device;
use crate::runtime::facts::{Code, Finding, FindingId, Severity, Suffix, Target, Version};
use crate::runtime::judge::NewerPtx;
use crate::targets::gpus::{GpuQueryFault, SilentDriver};
use crate::targets::select::{RequestProblem, Selection, SelectionNote};
use crate::targets::target_lists::machine;
use crate::targets::{Compiler, TargetRequest, gpu_names, nvcc_table};
use crate::toolkit::nvcc::{MissingTemporaryDirectory, NvccFault};

impl RequestProblem<'_> {
    /// Returns the finding for this request. `gpu_fault` is the reason why no GPU is known.
    pub fn finding(&self, request: &TargetRequest, gpu_fault: Option<&GpuQueryFault>) -> Finding {
        let from = request.from;
        let error = |id: FindingId, headline: String| {
            id.error(headline)
                .with("found", format!("{from}: {:?}", request.text))
        };
        let unknown = |headline: String| {
            error(FindingId::ArchUnknown, headline)
                .help(
                    "write targets as `80`, `8.6`, `90a`, `sm_86`, `compute_90`, `86-real`, `8.6+PTX`, `native`, `all` or \
                     `all-major`, with spaces, commas or semicolons between them",
                )
                .help("use GPU names, with spaces but no commas in a name: `Ampere`, `H100`, `RTX 4090`; `nvidia-smi --query-gpu=compute_cap --format=csv` prints the numbers of this machine")
        };
        match self {
            RequestProblem::UnknownWord(word) => {
                unknown(format!("`{word}` in {from} is not a GPU target"))
                    .with_lines("similar", gpu_names::similar(word))
            }
            RequestProblem::Empty => unknown(format!("the list of GPU targets in {from} is empty")),
            RequestProblem::NoGpu(instead) => {
                let headline = format!("no GPU was detected, but {from} requests `native`");
                let finding = error(FindingId::NoGpu, headline).help(format!(
                    "set CUDNN_GUARD_ARCHS=\"{}\", or a subset",
                    joined(instead, " ")
                ));
                match gpu_fault {
                    None => finding,
                    Some(cause) => finding.with_cause("driver", cause.finding()),
                }
            }
            RequestProblem::Unsound(Gencode { target, via }) => {
                let headline =
                    format!("{target} cannot be compiled through {via}, as {from} requests");
                let finding = error(FindingId::ArchUnsupportedByNvcc, headline);
                finding.help(match (target.code, via.suffix) {
                    (Code::Ptx, _) => {
                        format!("write only `{target}`: PTX is not compiled through other PTX")
                    }
                    (_, Suffix::Arch) => format!(
                        "write only `{target}`: PTX with an `a` only supports its own target"
                    ),
                    _ => format!("write only `{target}`, or use PTX that it can run"),
                })
            }
            RequestProblem::Unsupported(compiler, targets) => {
                let headline = format!(
                    "{} does not support {}, which {from} requests",
                    compiler.name,
                    joined(targets, ", ")
                );
                let is_known = |target: &Target| nvcc_table::first_with(*target).is_some();
                error(FindingId::ArchUnsupportedByNvcc, headline)
                    .with("supported", compiler.listed())
                    .with("toolkits", supported_by(targets))
                    .help(match targets.iter().all(is_known) {
                        true => "use targets that this nvcc supports, or select another CUDA toolkit with CUDA_HOME",
                        false => "use targets that this nvcc supports",
                    })
            }
        }
    }
}

impl SelectionNote<'_> {
    /// Returns the finding, which is a warning if a GPU of this machine gets no machine code.
    pub fn finding(&self) -> Finding {
        match self {
            Self::NoGpu(targets) => FindingId::NoGpu.note(
                "no GPU detected; compiling for the first GPU of each major compute capability",
            )
            .with("compiled", joined(*targets, " "))
            .help("set CUDNN_GUARD_ARCHS to the GPUs that the program will run on, to compile for fewer targets"),
            Self::GpuTooNew(gpu, targets, compiler) => {
                let what = match targets {
                    [_] => "which the driver compiles for this GPU",
                    _ => "which run on this GPU",
                };
                let toolkit = match nvcc_table::first_with(machine(gpu.capability)) {
                    Some(first) => format!("CUDA {} or newer", first.short()),
                    None => "a newer CUDA toolkit".to_string(),
                };
                FindingId::GpuNewerThanNvcc
                    .warning(gpu_and_nvcc(gpu, "new", compiler))
                    .with("supported", compiler.listed())
                    .with("compiled", format!("{}, {what}", joined(*targets, " ")))
                    .help(format!("install {toolkit} to compile machine code for this GPU"))
            }
            Self::GpuTooOld(gpu, compiler) => FindingId::ArchUnsupportedByNvcc
                .warning(gpu_and_nvcc(gpu, "old", compiler))
                .with("supported", compiler.listed())
                .with("toolkits", supported_by(&[machine(gpu.capability)]))
                .help("install an older CUDA toolkit to compile for this GPU"),
            Self::Renamed(from, to, compiler) => FindingId::ArchUnsupportedByNvcc.note(format!(
                "{from} is compiled as {to}, the number that {} uses for the same GPU",
                compiler.name
            )),
            Self::Rival(kept, dropped) => FindingId::ArchUnsupportedByNvcc.note(format!(
                "{} is omitted because nvcc cannot compile it together with {}, which runs on the same GPUs",
                words(*dropped),
                words(*kept)
            )),
            Self::ThisMachine(targets, left_out) => {
                let line = |(name, gpus): &(_, Vec<_>)| format!("{name}: {}", joined(gpus, ", "));
                FindingId::KernelsNotCoveringGpu.note(
                    "this release build compiles kernels only for the GPUs of this machine",
                )
                .with("compiled", joined(*targets, " "))
                .with_lines("left out", left_out.iter().map(line))
                .help("set CUDNN_GUARD_ARCHS=all-major, or list the GPUs that the program will run on")
            }
            Self::NoPtx(targets) => FindingId::KernelsNotCoveringGpu.note(
                "this release build embeds no PTX, so its kernels do not run on newer GPU generations",
            )
            .with("compiled", joined(*targets, " "))
            .help("call `.embed_ptx(true)` on the `Config` in build.rs, or add PTX to the list: `8.0+PTX`"),
        }
    }
}

fn gpu_and_nvcc(gpu: &Device, age: &str, compiler: &Compiler) -> String {
    let (name, capability) = (&gpu.name, gpu.capability);
    let nvcc = &compiler.name;
    format!("`{name}` (compute capability {capability}) is too {age} for {nvcc}")
}

fn words(gencode: Gencode) -> String {
    if gencode.is_plain() {
        gencode.target.to_string()
    } else {
        format!("{} through {}", gencode.target, gencode.via)
    }
}

/// Returns the CUDA versions that support each target, one target per line.
fn supported_by(targets: &[Target]) -> String {
    let line = |target: &Target| format!("{target}: {}", nvcc_table::supported_by(*target));
    joined(targets.iter().map(line), "\n")
}

impl NvccFault {
    /// Returns the finding for an nvcc that does not list its targets. `known`: its version and its targets in the
    /// table, which are used instead. An old nvcc gets only a note: nvcc can list its targets since CUDA 11.5.
    pub fn without_targets(
        &self,
        missing: Option<MissingTemporaryDirectory>,
        known: Option<(Version, &Compiler)>,
    ) -> Finding {
        let used = known.map(|(cuda, known)| {
            format!("the targets of CUDA {}: {}", cuda.short(), known.listed())
        });
        let finding = match known {
            Some((cuda, known)) if cuda < Version::new(11, 5, 0) => {
                let (name, cuda) = (&known.name, cuda.short());
                FindingId::NvccFailed.note(format!(
                    "{name} is from CUDA {cuda}, which cannot list its GPU targets"
                ))
            }
            _ => {
                let cause = self.finding();
                let help = missing.map(|missing| vec![missing.help()]);
                let finding = cause.id.warning(cause.summary).with_all(cause.evidence);
                finding.helps(help.unwrap_or(cause.help))
            }
        };
        finding.with_some("used", used)
    }
}

impl NewerPtx {
    /// Returns the finding for the PTX of a toolkit, a note if no GPU of this machine needs PTX. `first`: the first
    /// driver that supports the PTX, if the tables contain it.
    pub fn toolkit_finding(&self, first: Option<&str>, is_needed: bool) -> Finding {
        let severity = match is_needed {
            true => Severity::Warning,
            false => Severity::Note,
        };
        let required = first.map(|first| format!("driver {first} or later"));
        let finding = self.finding(severity, "the toolkit writes");
        finding.with_some("required", required)
    }
}

impl Selection {
    /// Returns the finding for targets that nvcc 13.2 miscompiles. `instead`: targets that also run on these GPUs.
    pub fn miscompiled_finding(&self, instead: &[Target]) -> Finding {
        let instead = joined(instead, " ");
        FindingId::KnownBadRelease
            .warning("nvcc 13.2 has a known bug: it generates wrong code for sm_103")
            .help(format!(
                "set CUDNN_GUARD_ARCHS=\"{instead}\": sm_100 runs on the same GPUs"
            ))
            .with("chosen by", self.chosen_by)
            .with("issue", "Dao-AILab/causal-conv1d#105")
    }
}

impl SilentDriver {
    pub fn finding(&self) -> Finding {
        let headline = match self {
            Self::Deadline(limit) => format!(
                "the NVIDIA driver did not respond within {} s",
                limit.as_secs_f64()
            ),
            Self::Panicked => "cannot query the NVIDIA driver".to_string(),
        };
        FindingId::DriverError
            .warning(headline)
            .help("run `nvidia-smi`: if it hangs too, restart the machine or its driver")
    }
}

impl GpuQueryFault {
    pub fn finding(&self) -> Finding {
        let finding = match self {
            Self::Silent(silent) => silent
                .finding()
                .help("set CUDNN_GUARD_ARCHS so that the driver is not queried"),
            Self::Driver(problem) => problem.finding(),
            #[cfg(feature = "cudarc")]
            Self::Cudarc(error) => FindingId::DriverError
                .note("the NVIDIA driver cannot initialize CUDA")
                .with("cudarc", error)
                .help("run `nvidia-smi` to check the driver"),
        };
        let severity = Severity::Note;
        Finding {
            severity,
            ..finding
        }
    }
}
