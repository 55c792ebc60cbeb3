//! What it means that cuDNN or the GPU refused.

use crate::runtime::cudnn::algorithm::Algorithm;
use crate::runtime::cudnn::status;
use crate::runtime::driver::device_memory;

/// A mebibyte.
pub const MIB: usize = 1 << 20;
/// With less than this free, cuDNN's own code and workspaces may not fit, and its refusal says nothing about it.
pub const LOW_MEMORY: usize = 512 * MIB;
/// The free memory below which a status that also stands for a lack of memory is taken for one: a context, cuDNN's code
/// and that of cuBLAS take more than a gigabyte on large GPUs.
const LOW_FOR_ITS_STATUS: usize = 1536 * MIB;

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

    /// Returns the free memory, if it may be too little.
    pub fn low_memory(&self, major: u32) -> Option<usize> {
        let enough = if status::may_be_memory(self.status, major) {
            LOW_FOR_ITS_STATUS
        } else {
            LOW_MEMORY
        };
        let memory = self.memory?;
        // What is little for a large GPU is half of a small one.
        Some(memory.free).filter(|free| *free < enough.min(memory.total / 2))
    }
}

/// Returns `true` for a `CUresult` after cuDNN's work that is neither cuDNN's fault nor the program's.
pub fn is_outside_cudnn(code: i32) -> bool {
    is_memory(code) || is_elsewhere(code)
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
pub fn is_hardware(code: i32) -> bool {
    matches!(code, 214 | 220 | 226 | 304)
}
