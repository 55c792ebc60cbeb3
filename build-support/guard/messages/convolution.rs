//! A convolution that failed, or was not possible.

use crate::runtime::convolution::case_result::{Api, CaseResult};
use crate::runtime::convolution::cudnn_error::{
    CudnnError, LOW_MEMORY, MIB, is_elsewhere, is_hardware, is_memory, is_outside_cudnn,
};
use crate::runtime::convolution::failure::{
    CaseFailure, FailedCase, OVERRIDE, Unserved, WrongEverywhere,
};
use crate::runtime::cudnn::shape::{dimensions, indices, pair};
use crate::runtime::cudnn::status;
use crate::runtime::driver::device_memory::Breach;
use crate::runtime::facts::finding::{Finding, Severity, Verdict};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;
use crate::runtime::messages::cuda_status;
use crate::runtime::system::by_system;

const BELONG: &str = "install cuDNN, CUDA and driver releases that belong together: `cudnn-guard doctor` shows what is here";
/// The driver's function that returns the status of cuDNN's work on the GPU.
const WAIT: &str = "cuCtxSynchronize";
const UPDATE: &str = "update cudnn-guard: it does not know this release";

impl FailedCase<'_> {
    pub fn finding(&self) -> Finding {
        let (version, device, case) = (self.version, self.device, self.case);
        let cudnn = format!("cuDNN {version}");
        let words = case.words();
        let untried =
            |summary| self.start(FindingId::ConvolutionFailed, Severity::Warning, summary);
        match self.failure {
            CaseFailure::Unserved(reason) => {
                untried(format!("no {words} was tried: {}", reason.words()))
            }
            CaseFailure::MissingFunction(name) => untried(format!(
                "{cudnn} has no `{name}`, so no convolution was tried"
            ))
            .help(UPDATE),
            CaseFailure::Workspace { bytes, .. } => untried(format!(
                "{cudnn} wants {} MiB to work in for a small convolution, so none was tried",
                bytes / MIB
            ))
            .help(UPDATE),
            CaseFailure::Full { free } => self.memory_low(
                Some(*free),
                "cuDNN",
                "it was not asked: CUDA takes memory by pieces of 2 MiB",
            ),
            CaseFailure::Gpu(status) => self.refused_by_gpu(status.call, status.code),
            CaseFailure::Cudnn(error) => self.refused_by_cudnn(error),
            CaseFailure::Crashed { code, .. } if is_outside_cudnn(*code) => {
                self.refused_by_gpu(WAIT, Some(*code))
            }
            CaseFailure::Crashed { code, .. } => {
                let named = cuda_status::status_name(*code);
                let summary = format!("a {words} of {cudnn} on {device} ended with {named}");
                self.of_case(FindingId::ConvolutionFailed, Severity::Error, summary)
                    .with("meaning", cuda_status::explain(*code).words)
                    .help(BELONG)
            }
            CaseFailure::Dimensions(reported) => {
                let (reported, right) = (dimensions(*reported), dimensions(case.shape.y()));
                let summary = format!(
                    "{cudnn} says that a convolution gives {reported} numbers, where {right} is right"
                );
                self.of_case(FindingId::ConvolutionWrong, Severity::Error, summary)
                    .help(BELONG)
            }
            CaseFailure::Breach { buffer, place, .. } => {
                let (place, severity, help) = match place {
                    Breach::Before => ("before the beginning", Severity::Error, BELONG),
                    Breach::JustPast => (
                        "within 512 bytes past the end",
                        Severity::Warning,
                        "run the program under `compute-sanitizer` to see whether cuDNN writes past the program's own buffers",
                    ),
                    Breach::FarPast => ("past the end", Severity::Error, BELONG),
                };
                let summary = format!(
                    "{cudnn} wrote {place} of its {buffer} buffer in a {words} on {device}"
                );
                self.of_case(FindingId::ConvolutionWrong, severity, summary)
                    .help(help)
            }
            CaseFailure::Rounded {
                comparison,
                allowed,
                is_requested: is_asked,
                ..
            } => {
                let (severity, reason) = if *is_asked {
                    (Severity::Note, format!("as {OVERRIDE}=1 asks it to"))
                } else {
                    (Severity::Warning, "though told not to".to_string())
                };
                let summary =
                    format!("{cudnn} rounds single precision to TF32 on {device}, {reason}");
                let largest = format!(
                    "off by {:.1e}, where about {:.1e} is allowed",
                    comparison.largest_error, allowed
                );
                let finding = self.of_case(FindingId::ConvolutionWrong, severity, summary);
                let finding = finding.with("largest", largest);
                if *is_asked {
                    return finding;
                }
                finding.help(format!("set {OVERRIDE}=0 to have full single precision"))
            }
            CaseFailure::Wrong {
                comparison,
                found: there,
                expected,
                allowed,
                all,
                other,
                ..
            } => {
                let what = match all {
                    Some(WrongEverywhere::Unwritten) => "nothing was written".to_string(),
                    Some(WrongEverywhere::Zero) => "every number is 0".to_string(),
                    Some(WrongEverywhere::Bfloat16) => {
                        "every number is rounded to the 8 bits of bf16".to_string()
                    }
                    None if there.is_finite() => format!(
                        "off by {:.1e}, where {:.1e} is allowed",
                        (f64::from(*there) - expected).abs(),
                        allowed
                    ),
                    None => "a result is not a number".to_string(),
                };
                let summary = format!("{cudnn} computed a wrong {words} on {device}: {what}");
                let [a, b, c, d] = indices(case.result(), comparison.worst.unwrap_or(0));
                let result = case.operation.result();
                let place =
                    format!("{result}[{a}][{b}][{c}][{d}] is {there}, and {expected:.7} is right");
                let wrong = format!("{} of {} numbers", comparison.wrong, comparison.of);
                let other = other.map(|(by, verdict)| match verdict {
                    Verdict::Pass => format!("{by} computes rightly"),
                    Verdict::Fail => format!("{by} is wrong too"),
                    Verdict::Unknown => format!("{by} fails"),
                });
                self.of_case(FindingId::ConvolutionWrong, Severity::Error, summary)
                    .with("where", place)
                    .with("wrong", wrong)
                    .with_lines("beside it", other)
                    .help(BELONG)
                    .help(
                    "run the same on another GPU, if all of that fits: `nvidia-smi -q -d ECC` shows errors of this one's memory",
                )
            }
        }
    }

    /// Creates the finding of a failure; only a warning with the reason, if the failure is in doubt.
    fn start(&self, id: FindingId, severity: Severity, summary: String) -> Finding {
        if !self.in_doubt {
            return Finding::new(id, severity, summary);
        }
        Finding::warning(id, summary).with(
            "where",
            "in the context of this program, whose own work may have failed",
        )
    }

    /// Creates the finding of a failure, with the operation and its shape.
    fn of_case(&self, id: FindingId, severity: Severity, summary: String) -> Finding {
        let (case, shape) = (self.case, self.case.shape);
        let mut words = vec![
            case.operation.name().to_string(),
            case.data_type.name().to_string(),
            case.layout.name().to_string(),
        ];
        words.extend(self.failure.algorithm().map(|by| by.to_string()));
        let mut sizes = format!(
            "x {}, w {}, padding {}, stride {}",
            dimensions(shape.x()),
            dimensions(shape.filter()),
            pair(shape.pad),
            pair(shape.stride)
        );
        if shape.dilation != [1, 1] {
            sizes = format!("{}, dilation {}", sizes, pair(shape.dilation));
        }
        if shape.groups != 1 {
            sizes = format!("{}, {} groups", sizes, shape.groups);
        }
        self.start(id, severity, summary)
            .with("operation", words.join(", "))
            .with("shape", sizes)
    }

    /// Returns the finding for a refusal by the GPU or its driver, which is neither cuDNN's fault nor the program's.
    fn refused_by_gpu(&self, call: &str, code: Option<i32>) -> Finding {
        let device = self.device;
        let refused = |id, summary| self.start(id, Severity::Warning, summary);
        let Some(code) = code else {
            let summary = format!("NVIDIA's driver has no `{call}`, so no convolution was tried");
            return refused(FindingId::DriverError, summary).help("update NVIDIA's driver");
        };
        let error = cuda_status::explain(code);
        let answered = format!("`{call}` answered {}", cuda_status::status_name(code));
        if is_memory(code) {
            return self.memory_low(None, "driver", &answered);
        }
        let id = if is_elsewhere(code) && !is_hardware(code) {
            FindingId::DeviceBusy
        } else {
            FindingId::DriverError
        };
        let words = error.words;
        let summary = format!("{device} could not be used for a convolution: {words}");
        refused(id, summary)
            .with("driver", answered)
            .help(error.help)
    }

    /// Returns the finding for too little memory to test anything. `free`: the free memory in bytes, if known.
    fn memory_low(&self, free: Option<usize>, label: &'static str, reason: &str) -> Finding {
        let device = self.device;
        let summary = match free {
            Some(free) if free >= LOW_MEMORY => format!(
                "{device} has {} MiB of free memory, which may be too little to try a convolution",
                free / MIB
            ),
            Some(free) => format!(
                "{device} has too little free memory to try a convolution: {} MiB",
                free / MIB
            ),
            None => format!("{device} has too little free memory to try a convolution"),
        };
        self.start(FindingId::DeviceMemoryLow, Severity::Warning, summary)
            .with(label, reason)
            .help("free memory on the GPU: `nvidia-smi` shows who holds it")
    }

    fn refused_by_cudnn(&self, error: &CudnnError) -> Finding {
        let (version, device, case) = (self.version, self.device, self.case);
        let major = version.major;
        let outside = error.gpu.filter(|code| is_outside_cudnn(*code));
        let words = Some(&error.last_error).filter(|words| !words.is_empty());
        let with_words = |finding: Finding| finding.with_lines("last error", words);
        let answered = answered(error, major);
        if error.lacks_memory(major) {
            return with_words(self.memory_low(error.low_memory(major), "cuDNN", &answered));
        }
        if let Some(code) = outside {
            return with_words(
                self.refused_by_gpu(WAIT, Some(code))
                    .with("cuDNN", answered),
            );
        }
        // A program that uses the graph API expects refusals, and may have another way.
        let is_fault = case.api == Api::Legacy
            || error.call == "cudnnBackendExecute"
            || status::is_internal(error.status);
        let fails = error.gpu.is_some() || error.is_mismatch(major) || self.counts && is_fault;
        let severity = Severity::error_if(fails);
        let summary = format!(
            "`{}` of cuDNN {version} answered {} on {device}",
            error.call,
            status::status_name(error.status, major)
        );
        let mut finding = match error.call {
            "cudnnCreate" => self.start(FindingId::CudnnCreateFailed, severity, summary),
            _ => self.of_case(FindingId::ConvolutionFailed, severity, summary),
        };
        if let Some(code) = error.gpu {
            finding = finding.with("GPU", cuda_status::status_name(code));
        }
        with_words(finding).help(help(error.status, major))
    }
}

fn answered(error: &CudnnError, major: u32) -> String {
    let named = status::status_name(error.status, major);
    format!("`{}` answered {}", error.call, named)
}

impl CaseFailure {
    /// Returns the reason, if the failure only means that this kind of convolution is not supported. A wrong parameter
    /// means the same: the first convolution is set up by the same calls, and must pass. Unless refusals `counts`,
    /// every refusal is such a reason that shows neither mixed sub-libraries nor a lack of memory.
    pub fn left_out(&self, version: Version, counts: bool) -> Option<String> {
        match self {
            CaseFailure::Unserved(reason) => Some(reason.words()),
            CaseFailure::MissingFunction(name) => Some(format!("this cuDNN has no `{name}`")),
            CaseFailure::Workspace { bytes, .. } => {
                Some(format!("cuDNN wants {} MiB to work in", bytes / MIB))
            }
            CaseFailure::Cudnn(error) if error.is_excused(version.major, counts) => {
                Some(answered(error, version.major))
            }
            _ => None,
        }
    }
}

impl Unserved {
    fn words(&self) -> String {
        match self {
            Unserved::Capability(capability, data_type) => format!(
                "the GPU is of compute capability {capability}, and {} begins with {}",
                data_type.name(),
                data_type.since()
            ),
            Unserved::Release(data_type) => format!(
                "{} begins with cuDNN {}",
                data_type.name(),
                data_type.first_release().short()
            ),
            Unserved::MissingPart(part) => format!("{part} is not here"),
            Unserved::NoEngine => "cuDNN offers no engine for it".to_string(),
            Unserved::Rounds(by) => format!("{by} rounds single precision"),
        }
    }
}

impl CaseResult {
    /// Changes the verdict to unknown, since the graph API computes in this format.
    pub fn excuse(&mut self, format: &str) {
        self.verdict = Verdict::Unknown;
        if let Some(finding) = &mut self.finding {
            finding.severity = Severity::Warning;
            let words = format!("it computes in {format} on this GPU");
            finding.evidence.push(("graph API", words));
        }
    }
}

/// Returns the help for a `cudnnStatus_t`.
fn help(code: i32, major: u32) -> &'static str {
    match status::name(code, major) {
        "VERSION_MISMATCH" | "SUBLIBRARY_VERSION_MISMATCH" => {
            by_system!(
                "put the parts of one cuDNN release into one directory, and no other before it in LD_LIBRARY_PATH",
                "put the parts of one cuDNN release into one directory, and no other before it in PATH"
            )
        }
        "SUBLIBRARY_LOADING_FAILED" | "NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE" => {
            by_system!(
                "put every part of that cuDNN release beside its `libcudnn.so`",
                "put every part of that cuDNN release beside its `cudnn64_9.dll`, and that directory into PATH"
            )
        }
        "ARCH_MISMATCH" | "NOT_SUPPORTED_ARCH_MISMATCH" => {
            "install a cuDNN release that serves this GPU"
        }
        "NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER" => {
            "update NVIDIA's driver, or install a cuDNN for the CUDA that this driver serves"
        }
        "NOT_SUPPORTED_INCOMPATIBLE_CUDART" => {
            "install the CUDA libraries of the CUDA that this cuDNN was built for"
        }
        "RUNTIME_PREREQUISITE_MISSING" | "NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING" => {
            "install the libraries that cuDNN opens by itself (cuBLAS, NVRTC), of the CUDA that it was built for"
        }
        _ => {
            "set CUDNN_LOGLEVEL_DBG=3 and CUDNN_LOGDEST_DBG=stderr to see what cuDNN itself has to say"
        }
    }
}
