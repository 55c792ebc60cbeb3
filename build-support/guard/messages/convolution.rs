//! A convolution that failed, or was not possible.

use crate::runtime::convolution::{
    Api, CaseFailure, CaseResult, CudnnError, FailedCase, LOW_MEMORY, MIB, OVERRIDE, Unsupported,
    WrongEverywhere, is_elsewhere, is_hardware, is_memory, is_outside_cudnn,
};
use crate::runtime::cudnn::shape::{dimensions, indices, pair};
use crate::runtime::cudnn::status;
use crate::runtime::driver::device_memory::Breach;
use crate::runtime::facts::{Finding, FindingId, Verdict, Version};
use crate::runtime::messages::cuda_status;
use crate::runtime::system::{by_system, proc};

const BELONG: &str = "install compatible versions of cuDNN, CUDA and the driver: `cudnn-guard doctor` shows the installed ones";
/// The driver's function that returns the status of cuDNN's work on the GPU.
const WAIT: &str = "cuCtxSynchronize";
/// `CUDA_ERROR_OUT_OF_MEMORY`
const OUT_OF_MEMORY: i32 = 2;

impl FailedCase<'_> {
    pub fn finding(&self) -> Finding {
        let (version, device, case) = (self.version, self.device, self.case);
        let cudnn = format!("cuDNN {version}");
        let words = case.words();
        match self.failure {
            CaseFailure::Unsupported(reason) => {
                let summary = format!("no convolution was tested with {cudnn}: {}", reason.words());
                let finding = FindingId::ConvolutionFailed.warning(summary);
                self.in_context(finding)
                    .help("update cudnn-guard: it does not know this version")
            }
            CaseFailure::Full { free } => self.memory_low(
                Some(*free),
                "cuDNN",
                "not called: CUDA allocates memory in blocks of 2 MiB",
            ),
            CaseFailure::Gpu(status) => self.refused_by_gpu(status.call, status.code),
            CaseFailure::Cudnn(error) => self.refused_by_cudnn(error),
            CaseFailure::Crashed { code, .. } if is_outside_cudnn(*code) => {
                self.refused_by_gpu(WAIT, Some(*code))
            }
            CaseFailure::Crashed { code, .. } => {
                let named = cuda_status::status_name(*code);
                self.of_case(FindingId::ConvolutionFailed.error(format!(
                    "{cudnn} failed to compute a {words} on {device}: {named}"
                )))
                .with("meaning", cuda_status::explain(*code).words)
                .help(BELONG)
            }
            CaseFailure::Breach { buffer, place, .. } => {
                let (place, is_error, help) = match place {
                    Breach::Before => ("before the beginning", true, BELONG),
                    Breach::JustPast => (
                        "within 512 bytes past the end",
                        false,
                        "run the program under `compute-sanitizer` to see whether cuDNN writes past the program's own buffers",
                    ),
                    Breach::FarPast => ("past the end", true, BELONG),
                };
                let summary = format!(
                    "{cudnn} wrote {place} of its {buffer} buffer in a {words} on {device}"
                );
                self.of_case(FindingId::ConvolutionWrong.error_if(is_error, summary))
                    .help(help)
            }
            CaseFailure::Rounded {
                comparison,
                allowed,
                is_requested,
                ..
            } => {
                let id = FindingId::ConvolutionWrong;
                let summary = format!("{cudnn} rounds single precision to TF32 on {device}");
                let finding = match is_requested {
                    true => id.note(format!("{summary}, as {OVERRIDE}=1 requests")),
                    false => id
                        .warning(format!("{summary}, although TF32 is disabled"))
                        .help(format!("set {OVERRIDE}=0 for full single precision")),
                };
                self.of_case(finding).with(
                    "largest",
                    format!(
                        "error {:.1e} exceeds the limit of about {allowed:.1e}",
                        comparison.largest_error
                    ),
                )
            }
            CaseFailure::Wrong {
                comparison,
                found: there,
                expected,
                allowed,
                all,
                ..
            } => {
                let what = match all {
                    Some(WrongEverywhere::Unwritten) => "nothing was written".to_string(),
                    Some(WrongEverywhere::Zero) => "every number is 0".to_string(),
                    Some(WrongEverywhere::Bfloat16) => {
                        "every number is rounded to the 8 bits of bf16".to_string()
                    }
                    None if there.is_finite() => format!(
                        "error {:.1e} exceeds the limit of {allowed:.1e}",
                        (f64::from(*there) - expected).abs()
                    ),
                    None => "a result is not a number".to_string(),
                };
                let [a, b, c, d] = indices(case.result(), comparison.worst.unwrap_or(0));
                let result = case.operation.result();
                let place =
                    format!("{result}[{a}][{b}][{c}][{d}] is {there}, but should be {expected:.7}");
                let count = format!("{} of {} numbers", comparison.wrong, comparison.of);
                let summary = format!("{cudnn} computed a wrong {words} on {device}: {what}");
                self.of_case(FindingId::ConvolutionWrong.error(summary))
                    .with("element", place)
                    .with("wrong", count)
                    .help(BELONG)
                    .help(
                    "run the program on another GPU if these versions are compatible: `nvidia-smi -q -d ECC` shows memory errors of this GPU",
                )
            }
        }
    }

    /// Turns the finding into a warning with the reason if the failure is in doubt.
    fn in_context(&self, finding: Finding) -> Finding {
        if !self.in_doubt {
            return finding;
        }
        let reason = "shared with this program, whose own work may have failed";
        finding.into_warning().with("context", reason)
    }

    /// Adds the operation and its shape to the finding of a failure.
    fn of_case(&self, finding: Finding) -> Finding {
        let (case, shape) = (self.case, self.case.shape);
        let names = [
            case.operation.name(),
            case.data_type.name(),
            case.layout.name(),
        ];
        let algorithm = self.failure.algorithm();
        let algorithm = algorithm.map_or_else(String::new, |algorithm| format!(", {algorithm}"));
        let sizes = format!(
            "x {}, w {}, padding {}, stride {}",
            dimensions(shape.x),
            dimensions(shape.w),
            pair(shape.pad),
            pair(shape.stride)
        );
        self.in_context(finding)
            .with("operation", names.join(", ") + &algorithm)
            .with("shape", sizes)
    }

    /// Returns the finding for a refusal by the GPU or its driver, which is neither cuDNN's fault nor the program's.
    fn refused_by_gpu(&self, call: &str, code: Option<i32>) -> Finding {
        let Some(code) = code else {
            let summary =
                format!("NVIDIA's driver does not contain `{call}`, so no convolution was tested");
            let finding = FindingId::DriverError.warning(summary);
            return self.in_context(finding).help("update NVIDIA's driver");
        };
        let answered = format!("`{call}` returned {}", cuda_status::status_name(code));
        if is_memory(code) && !proc::has_shadow_gap() {
            return self.memory_low(None, "driver", &answered);
        }
        self.unusable(code).with("driver", answered)
    }

    /// Returns the finding for a GPU that cannot be used because of this `CUresult`.
    fn unusable(&self, code: i32) -> Finding {
        let (device, error) = (self.device, cuda_status::explain(code));
        let id = match is_elsewhere(code) && !is_hardware(code) {
            true => FindingId::DeviceBusy,
            false => FindingId::DriverError,
        };
        let summary = format!(
            "{device} could not be used for a convolution: {}",
            error.words
        );
        self.in_context(id.warning(summary)).help(error.help)
    }

    /// Returns the finding for too little memory to test anything. `free`: the free memory in bytes, if known.
    fn memory_low(&self, free: Option<usize>, label: &'static str, reason: &str) -> Finding {
        let device = self.device;
        let certainty = match free {
            Some(LOW_MEMORY..) => "may have",
            _ => "has",
        };
        let free = free.map_or_else(String::new, |free| format!(": {} MiB", free / MIB));
        let summary =
            format!("{device} {certainty} too little free memory to test a convolution{free}");
        self.in_context(FindingId::DeviceMemoryLow.warning(summary))
            .with(label, reason)
            .help("free memory on the GPU: `nvidia-smi` shows which processes use it")
    }

    fn refused_by_cudnn(&self, error: &CudnnError) -> Finding {
        let (version, device, case) = (self.version, self.device, self.case);
        let major = version.major;
        let outside = error.gpu.filter(|code| is_outside_cudnn(*code));
        let words = Some(&error.last_error).filter(|words| !words.is_empty());
        let with_words = |finding: Finding| finding.with_some("last error", words);
        let answered = answered(error, major);
        let may_be_memory = error.gpu.is_none_or(is_memory)
            && (status::may_be_memory(error.status, major)
                || status::is_memory(error.status, major));
        if may_be_memory && error.low_memory(major).is_none() && proc::has_shadow_gap() {
            return with_words(self.unusable(OUT_OF_MEMORY).with("cuDNN", answered));
        }
        if error.lacks_memory(major) {
            return with_words(self.memory_low(error.low_memory(major), "cuDNN", &answered));
        }
        if let Some(code) = outside {
            let finding = self.refused_by_gpu(WAIT, Some(code));
            return with_words(finding.with("cuDNN", answered));
        }
        // A program that uses the graph API expects refusals, and may have another way.
        let is_fault = case.api == Api::Legacy
            || error.call == "cudnnBackendExecute"
            || status::is_internal(error.status);
        let fails = error.gpu.is_some() || error.is_mismatch(major) || self.counts && is_fault;
        let summary = format!(
            "`{}` of cuDNN {version} returned {} on {device}",
            error.call,
            status::status_name(error.status, major)
        );
        let finding = match error.call {
            "cudnnCreate" => self.in_context(FindingId::CudnnCreateFailed.error_if(fails, summary)),
            _ => self.of_case(FindingId::ConvolutionFailed.error_if(fails, summary)),
        };
        let finding = finding.with_some("GPU", error.gpu.map(cuda_status::status_name));
        with_words(finding).help(help(error.status, major))
    }
}

fn answered(error: &CudnnError, major: u32) -> String {
    let named = status::status_name(error.status, major);
    format!("`{}` returned {}", error.call, named)
}

impl CaseFailure {
    /// Returns the reason, if the failure only means that this kind of convolution is not supported. A wrong parameter
    /// means the same: the first convolution is set up by the same calls, and must pass. Unless refusals `counts`,
    /// every refusal is such a reason that shows neither mixed sub-libraries nor a lack of memory.
    pub fn left_out(&self, version: Version, counts: bool) -> Option<String> {
        match self {
            CaseFailure::Unsupported(reason) => Some(reason.words()),
            CaseFailure::Cudnn(error) if error.is_excused(version.major, counts) => {
                Some(answered(error, version.major))
            }
            _ => None,
        }
    }
}

impl Unsupported {
    fn words(&self) -> String {
        match self {
            Unsupported::Capability(capability, data_type) => format!(
                "{} requires compute capability {}, but the GPU has {capability}",
                data_type.name(),
                data_type.since()
            ),
            Unsupported::MissingPart(part) => format!("{part} is missing"),
            Unsupported::NoEngine => "cuDNN offers no engine for it".to_string(),
            Unsupported::Rounds(by) => format!("{by} rounds single precision"),
            Unsupported::MissingFunction(name) => format!("this cuDNN does not contain `{name}`"),
            Unsupported::Workspace(bytes, _) => {
                format!("cuDNN requires {} MiB of workspace", bytes / MIB)
            }
        }
    }
}

impl CaseResult {
    /// Changes the verdict to unknown, since the graph API computes in this format.
    pub fn excuse(&mut self, format: &str) {
        self.verdict = Verdict::Unknown;
        let words = format!("computes in {format} on this GPU");
        let finding = self.finding.take();
        self.finding = finding.map(|finding| finding.into_warning().with("graph API", words));
    }
}

/// Returns the help for a `cudnnStatus_t`.
fn help(code: i32, major: u32) -> &'static str {
    match status::name(code, major) {
        "VERSION_MISMATCH" | "SUBLIBRARY_VERSION_MISMATCH" => {
            by_system!(
                "install all sub-libraries of one cuDNN version in one directory, with no other cuDNN before it in LD_LIBRARY_PATH",
                "install all sub-libraries of one cuDNN version in one directory, with no other cuDNN before it in PATH"
            )
        }
        "SUBLIBRARY_LOADING_FAILED" | "NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE" => {
            by_system!(
                "install every sub-library of that cuDNN version next to its `libcudnn.so`",
                "install every sub-library of that cuDNN version next to its `cudnn64_9.dll`, and add that directory to PATH"
            )
        }
        "ARCH_MISMATCH" | "NOT_SUPPORTED_ARCH_MISMATCH" => {
            "install a cuDNN version that supports this GPU"
        }
        "NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER" => {
            "update NVIDIA's driver, or install a cuDNN for the CUDA version that this driver supports"
        }
        "NOT_SUPPORTED_INCOMPATIBLE_CUDART" => {
            "install the CUDA libraries of the CUDA version that this cuDNN was built for"
        }
        "RUNTIME_PREREQUISITE_MISSING" | "NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING" => {
            "install the libraries that cuDNN opens at run time (cuBLAS, NVRTC), of the CUDA version that it was built for"
        }
        _ => "set CUDNN_LOGLEVEL_DBG=3 and CUDNN_LOGDEST_DBG=stderr to see cuDNN's own log",
    }
}
