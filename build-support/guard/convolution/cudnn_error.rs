//! What it means that cuDNN or the GPU refused.

use crate::runtime::convolution::case::Case;
use crate::runtime::convolution::case_result::Api;
use crate::runtime::cudnn::algorithm::Algorithm;
use crate::runtime::cudnn::status;
use crate::runtime::driver::call::CallStatus;
use crate::runtime::driver::{cuda_status, device_memory};
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;

const MIB: usize = 1 << 20;
/// With less than this free, cuDNN's own code and workspaces may not fit, and its refusal says nothing about it.
const LOW_MEMORY: usize = 512 * MIB;
/// The free memory below which a status that also stands for a lack of memory is taken for one: a context, cuDNN's code
/// and that of cuBLAS take more than a gigabyte on large GPUs.
const LOW_FOR_ITS_STATUS: usize = 1536 * MIB;

/// What the GPU or its driver refuses is not cuDNN's fault, nor the program's.
pub fn refused_by_gpu(status: CallStatus, device: &str) -> Finding {
    let Some(code) = status.code else {
        return Finding::warning(
            FindingId::DriverError,
            format!(
                "NVIDIA's driver has no `{}`, so no convolution was tried",
                status.call
            ),
        )
        .help("update NVIDIA's driver");
    };
    let error = cuda_status::explain(code);
    let answered = format!(
        "`{}` answered {}",
        status.call,
        cuda_status::status_name(code)
    );
    if is_memory(code) {
        return memory_low(device, None).with("driver", answered);
    }
    let id = if is_elsewhere(code) && !is_hardware(code) {
        FindingId::DeviceBusy
    } else {
        FindingId::DriverError
    };
    Finding::warning(
        id,
        format!(
            "{} could not be used for a convolution: {}",
            device, error.words
        ),
    )
    .with("driver", answered)
    .help(error.help)
}

/// There is not enough memory to try anything; so much is free, if that is known.
pub fn memory_low(device: &str, free: Option<usize>) -> Finding {
    Finding::warning(
        FindingId::DeviceMemoryLow,
        match free {
            Some(free) if free >= LOW_MEMORY => format!(
                "{} has {} MiB of free memory, which may be too little to try a convolution",
                device,
                free / MIB
            ),
            Some(free) => format!(
                "{} has too little free memory to try a convolution: {} MiB",
                device,
                free / MIB
            ),
            None => format!("{device} has too little free memory to try a convolution"),
        },
    )
    .help("free memory on the GPU: `nvidia-smi` shows who holds it")
}

/// What cuDNN refused, and what was seen round it.
pub struct CudnnError {
    /// The call.
    pub call: &'static str,
    /// What it answered.
    pub status: i32,
    /// The algorithm, once one was chosen.
    pub algorithm: Option<Algorithm>,
    /// cuDNN's own words.
    pub last_error: String,
    /// What CUDA says of the GPU after that.
    pub gpu: Option<i32>,
    /// The GPU's memory before or after it, whichever had less that was free.
    pub memory: Option<device_memory::Memory>,
}

impl CudnnError {
    /// Who answered what.
    pub fn answered(&self, major: u32) -> String {
        let named = status::status_name(self.status, major);
        format!("`{}` answered {}", self.call, named)
    }

    /// Whether it says that parts are missing or of another release.
    pub fn is_mismatch(&self, major: u32) -> bool {
        status::is_mismatch(self.status, major)
    }

    /// Whether it says no more than that a kind is not served. Where no refusal `counts` none says more, but for one
    /// that shows a mixture of parts, a lack of memory or a GPU that has failed.
    pub fn is_excused(&self, major: u32, counts: bool) -> bool {
        if self.gpu.is_some() {
            return false;
        }
        let is_other = !self.is_mismatch(major) && !self.lacks_memory(major);
        status::is_unserved(self.status, major) || !counts && is_other
    }

    /// Whether the GPU had too little memory, as far as can be told. Parts that are missing or mixed are so with little
    /// memory too.
    pub fn lacks_memory(&self, major: u32) -> bool {
        let is_low = self.low_memory(major).is_some();
        !self.is_mismatch(major) && (is_low || status::is_memory(self.status, major))
    }

    fn low_memory(&self, major: u32) -> Option<usize> {
        let enough = if status::may_be_memory(self.status, major) {
            LOW_FOR_ITS_STATUS
        } else {
            LOW_MEMORY
        };
        let memory = self.memory?;
        // What is little for a large GPU is half of a small one.
        Some(memory.free).filter(|free| *free < enough.min(memory.total / 2))
    }

    /// Returns what it means for a program.
    pub fn judge(&self, version: Version, device: &str, case: &Case, counts: bool) -> Finding {
        let major = version.major;
        let with_words = |finding: Finding| {
            if self.last_error.is_empty() {
                finding
            } else {
                finding.with("last error", &self.last_error)
            }
        };
        let answered = self.answered(major);
        if self.lacks_memory(major) {
            let low = self.low_memory(major);
            return with_words(memory_low(device, low).with("cuDNN", answered));
        }
        if let Some(finding) = self.gpu.and_then(|code| outside_cudnn(code, device)) {
            return with_words(finding.with("cuDNN", answered));
        }
        let handle = self.call == "cudnnCreate";
        let id = if handle {
            FindingId::CudnnCreateFailed
        } else {
            FindingId::ConvolutionFailed
        };
        let named = status::status_name(self.status, major);
        // A program that asks for a graph is ready to be refused, and may have another way.
        let is_fault = case.api == Api::Legacy
            || self.call == "cudnnBackendExecute"
            || status::is_internal(self.status);
        let fails = self.gpu.is_some() || self.is_mismatch(major) || counts && is_fault;
        let mut finding = Finding::new(
            id,
            Severity::error_if(fails),
            format!(
                "`{}` of cuDNN {} answered {} on {}",
                self.call, version, named, device
            ),
        );
        if !handle {
            finding = case.describe(finding, self.algorithm);
        }
        if let Some(code) = self.gpu {
            finding = finding.with("GPU", cuda_status::status_name(code));
        }
        with_words(finding).help(status::help(self.status, major))
    }
}

/// Returns the finding for a `CUresult` after cuDNN's work that is neither cuDNN's fault nor the program's.
pub fn outside_cudnn(code: i32, device: &str) -> Option<Finding> {
    let status = CallStatus {
        call: "cuCtxSynchronize",
        code: Some(code),
    };
    let is_outside = is_memory(code) || is_elsewhere(code);
    is_outside.then(|| refused_by_gpu(status, device))
}

/// Whether a `CUresult` says that there is too little memory.
pub fn is_memory(code: i32) -> bool {
    code == 2
}

/// Whether a `CUresult` says that the GPU is in use, or at its end, rather than that something does not fit.
pub fn is_elsewhere(code: i32) -> bool {
    is_hardware(code) || matches!(code, 4 | 46 | 101 | 702 | 800 | 802 | 805..=810 | 999)
}

/// Whether a `CUresult` tells of the GPU's memory, its links or the system under it.
fn is_hardware(code: i32) -> bool {
    matches!(code, 214 | 220 | 226 | 304)
}
