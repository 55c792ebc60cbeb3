//! How a convolution can go wrong, and what that means for the program.
//!
//! Only what cuDNN itself does wrong or refuses fails; what CUDA refuses, or a lack of memory, leaves it unknown.

use crate::runtime::convolution::case::Case;
use crate::runtime::convolution::cudnn_error::{
    CudnnError, memory_low, outside_cudnn, refused_by_gpu,
};
use crate::runtime::convolution::tolerance::Comparison;
use crate::runtime::cudnn::algorithm::Algorithm;
use crate::runtime::cudnn::shape::{dimensions, indices};
use crate::runtime::cudnn::status;
use crate::runtime::driver::call::CallStatus;
use crate::runtime::driver::cuda_status;
use crate::runtime::driver::device_memory::Breach;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;

const MIB: usize = 1 << 20;

/// A result that is right.
pub struct CaseSuccess {
    /// The largest distance from the CPU's.
    pub largest_error: f64,
    /// How it was computed.
    pub algorithm: Algorithm,
    /// Whether single precision was rounded, where that can be told.
    pub tf32: Option<bool>,
}

/// Why there is no right result.
pub enum CaseFailure {
    /// It was not tried, in words.
    Unserved(String),
    /// This cuDNN has no such function.
    Lacks(&'static str),
    /// It wants too much room to work in.
    Workspace {
        /// So much.
        bytes: usize,
        /// What was to run.
        algorithm: Algorithm,
    },
    /// The GPU's memory is taken, so cuDNN was not asked.
    Full {
        /// Bytes that are left.
        free: usize,
    },
    /// CUDA refused, before cuDNN was asked to convolve.
    Gpu(CallStatus),
    /// cuDNN refused.
    Cudnn(CudnnError),
    /// cuDNN was content, and then the GPU was not.
    Crashed {
        /// What CUDA says of the GPU.
        code: i32,
        /// What ran.
        algorithm: Algorithm,
    },
    /// Other dimensions than a convolution has.
    Dimensions([usize; 4]),
    /// It wrote where it may not.
    Breach {
        /// The buffer's use.
        buffer: &'static str,
        /// On which side of it.
        place: Breach,
        /// What ran.
        algorithm: Algorithm,
    },
    /// Single precision came out as TF32.
    Rounded {
        /// By how much.
        comparison: Comparison,
        /// How much is allowed at the worst place.
        allowed: f64,
        /// What ran.
        algorithm: Algorithm,
    },
    /// The numbers are wrong.
    Wrong {
        /// By how much.
        comparison: Comparison,
        /// What ran.
        algorithm: Algorithm,
        /// What came out at the worst place.
        there: f32,
        /// What should have come out there.
        expected: f64,
        /// How much is allowed there.
        allowed: f64,
        /// What is wrong with all of them, if it is the same with all.
        all: Option<&'static str>,
        /// How another engine did; empty if none was asked.
        other: String,
    },
}

impl CaseFailure {
    /// Whether cuDNN would not compute it so: by another algorithm or engine it may.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            CaseFailure::Cudnn(_) | CaseFailure::Workspace { .. } | CaseFailure::Lacks(_)
        )
    }

    /// Whether cuDNN says no more than that it does not offer this.
    pub fn is_not_supported(&self, version: Version) -> bool {
        match self {
            CaseFailure::Cudnn(error) => status::is_not_supported(error.status, version.major),
            CaseFailure::Workspace { .. } => true,
            _ => false,
        }
    }

    /// Whether the legacy API declined what the graph API may compute.
    pub fn is_declined(&self, version: Version) -> bool {
        match self {
            CaseFailure::Cudnn(error) => {
                version.major >= 9 && error.gpu.is_none() && status::is_declined(error.status)
            }
            _ => false,
        }
    }

    /// The reason, if it only says that this kind is not served. What cuDNN calls a wrong parameter is no more than
    /// that either: the first convolution is set up by the same calls, and must pass. Where no refusal `counts`, each
    /// is a reason that shows neither a mixture of parts nor a lack of memory.
    pub fn left_out(&self, version: Version, counts: bool) -> Option<String> {
        match self {
            CaseFailure::Unserved(reason) => Some(reason.clone()),
            CaseFailure::Lacks(name) => Some(format!("this cuDNN has no `{name}`")),
            CaseFailure::Workspace { bytes, .. } => {
                Some(format!("cuDNN wants {} MiB to work in", bytes / MIB))
            }
            CaseFailure::Cudnn(error) if error.is_excused(version.major, counts) => {
                Some(error.answered(version.major))
            }
            _ => None,
        }
    }

    /// Whether single precision was rounded.
    pub fn is_rounded(&self) -> bool {
        matches!(self, CaseFailure::Rounded { .. })
    }

    /// What ran, or was to run.
    pub fn algorithm(&self) -> Option<Algorithm> {
        match self {
            CaseFailure::Cudnn(error) => error.algorithm,
            CaseFailure::Workspace { algorithm, .. }
            | CaseFailure::Crashed { algorithm, .. }
            | CaseFailure::Breach { algorithm, .. }
            | CaseFailure::Rounded { algorithm, .. }
            | CaseFailure::Wrong { algorithm, .. } => Some(*algorithm),
            _ => None,
        }
    }

    /// The largest distance from what is right, if there is a result.
    pub fn largest_error(&self) -> Option<f64> {
        match self {
            CaseFailure::Rounded { comparison, .. } | CaseFailure::Wrong { comparison, .. } => {
                Some(comparison.largest_error)
            }
            _ => None,
        }
    }

    /// Whether nothing can be computed after it: an error of the GPU stays with the context.
    pub fn ends_the_context(&self) -> bool {
        match self {
            CaseFailure::Cudnn(error) => error.gpu.is_some(),
            CaseFailure::Crashed { .. } | CaseFailure::Gpu(_) | CaseFailure::Full { .. } => true,
            _ => false,
        }
    }

    /// Adds what another engine computed.
    pub fn beside(mut self, by: Algorithm, result: &Result<CaseSuccess, CaseFailure>) -> Self {
        if let CaseFailure::Wrong { other, .. } = &mut self {
            let how = match result {
                Ok(_) => "computes rightly",
                Err(CaseFailure::Wrong { .. }) => "is wrong too",
                Err(_) => "fails",
            };
            *other = format!("{by} {how}");
        }
        self
    }

    /// Returns what it means for a program: `version` is the cuDNN's, `device` the GPU's name. A refusal that does not
    /// count stops no program by itself.
    pub fn judge(&self, version: Version, device: &str, case: &Case, counts: bool) -> Finding {
        let cudnn = format!("cuDNN {version}");
        let words = case.words();
        let untried = |summary| Finding::warning(FindingId::ConvolutionFailed, summary);
        match self {
            CaseFailure::Unserved(reason) => untried(format!("no {words} was tried: {reason}")),
            CaseFailure::Lacks(name) => {
                let summary = format!("{cudnn} has no `{name}`, so no convolution was tried");
                untried(summary).help(UPDATE)
            }
            CaseFailure::Workspace { bytes, .. } => {
                let mib = bytes / MIB;
                let summary = format!(
                    "{cudnn} wants {mib} MiB to work in for a small convolution, so none was tried"
                );
                untried(summary).help(UPDATE)
            }
            CaseFailure::Full { free } => {
                let why = "it was not asked: CUDA takes memory by pieces of 2 MiB";
                memory_low(device, Some(*free)).with("cuDNN", why)
            }
            CaseFailure::Gpu(status) => refused_by_gpu(*status, device),
            CaseFailure::Cudnn(error) => error.judge(version, device, case, counts),
            CaseFailure::Crashed { code, .. } => {
                if let Some(finding) = outside_cudnn(*code, device) {
                    return finding;
                }
                let (error, named) = (cuda_status::explain(*code), cuda_status::status_name(*code));
                let summary = format!("a {words} of {cudnn} on {device} ended with {named}");
                let finding = Finding::error(FindingId::ConvolutionFailed, summary);
                let finding = self.with_case(finding, case).with("meaning", error.words);
                finding.help(BELONG)
            }
            CaseFailure::Dimensions(told) => {
                let (told, right) = (dimensions(*told), dimensions(case.shape.y()));
                let summary = format!(
                    "{cudnn} says that a convolution gives {told} numbers, where {right} is right"
                );
                let finding = Finding::error(FindingId::ConvolutionWrong, summary);
                self.with_case(finding, case).help(BELONG)
            }
            CaseFailure::Breach { buffer, place, .. } => {
                let is_near = *place == Breach::JustPast;
                let place = match place {
                    Breach::Before => "before the beginning",
                    Breach::JustPast => "within 512 bytes past the end",
                    Breach::FarPast => "past the end",
                };
                let summary = format!(
                    "{cudnn} wrote {place} of its {buffer} buffer in a {words} on {device}"
                );
                let severity = Severity::error_if(!is_near);
                let finding = Finding::new(FindingId::ConvolutionWrong, severity, summary);
                let help = if is_near { SANITIZER } else { BELONG };
                self.with_case(finding, case).help(help)
            }
            CaseFailure::Rounded {
                comparison,
                allowed,
                ..
            } => {
                let asked = std::env::var(OVERRIDE).is_ok_and(|value| value == "1");
                let largest = format!(
                    "off by {:.1e}, where about {:.1e} is allowed",
                    comparison.largest_error, allowed
                );
                let rounds = format!("{cudnn} rounds single precision to TF32 on {device}");
                let id = FindingId::ConvolutionWrong;
                if asked {
                    let summary = format!("{rounds}, as {OVERRIDE}=1 asks it to");
                    let finding = self.with_case(Finding::note(id, summary), case);
                    return finding.with("largest", largest);
                }
                let finding = Finding::warning(id, format!("{rounds}, though told not to"));
                let finding = self.with_case(finding, case).with("largest", largest);
                let help = format!("set {OVERRIDE}=0 to have full single precision");
                finding.help(help)
            }
            CaseFailure::Wrong {
                comparison,
                there,
                expected,
                allowed,
                all,
                other,
                ..
            } => {
                let what = match all {
                    Some(words) => words.to_string(),
                    None if there.is_finite() => format!(
                        "off by {:.1e}, where {:.1e} is allowed",
                        (f64::from(*there) - expected).abs(),
                        allowed
                    ),
                    None => "a result is not a number".to_string(),
                };
                let finding = Finding::error(
                    FindingId::ConvolutionWrong,
                    format!("{cudnn} computed a wrong {words} on {device}: {what}"),
                );
                let [a, b, c, d] = indices(case.result(), comparison.worst.unwrap_or(0));
                let result = case.operation.result();
                let place =
                    format!("{result}[{a}][{b}][{c}][{d}] is {there}, and {expected:.7} is right");
                let wrong = format!("{} of {} numbers", comparison.wrong, comparison.of);
                let finding = self.with_case(finding, case).with("where", place);
                let finding = finding.with("wrong", wrong);
                let finding = if other.is_empty() {
                    finding
                } else {
                    finding.with("beside it", other)
                };
                finding.help(BELONG).help(HARDWARE)
            }
        }
    }

    fn with_case(&self, finding: Finding, case: &Case) -> Finding {
        case.describe(finding, self.algorithm())
    }
}

const BELONG: &str = "install cuDNN, CUDA and driver releases that belong together: `cudnn-guard doctor` shows what is here";
const UPDATE: &str = "update cudnn-guard: it does not know this release";
const SANITIZER: &str = "run the program under `compute-sanitizer` to see whether cuDNN writes past the program's own buffers";
const HARDWARE: &str = "run the same on another GPU, if all of that fits: `nvidia-smi -q -d ECC` shows errors of this one's memory";

/// What makes cuDNN round single precision, or not, whatever the program says. Who sets it knows.
const OVERRIDE: &str = "NVIDIA_TF32_OVERRIDE";
