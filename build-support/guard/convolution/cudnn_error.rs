//! The meaning of an error of cuDNN or the GPU.

use crate::runtime::cudnn::{Algorithm, status};
use crate::runtime::driver::device_memory;

pub const MIB: usize = 1 << 20;
/// Free memory below which cuDNN's code and workspaces may not fit, whatever the status is.
pub const LOW_MEMORY: usize = 512 * MIB;
/// Free memory below which a status that may mean a lack of memory counts as one: a context and the code of cuDNN and
/// cuBLAS take more than a gigabyte on large GPUs.
const LOW_FOR_ITS_STATUS: usize = 1536 * MIB;

/// An error of cuDNN, with its context.
pub struct CudnnError {
    pub call: &'static str,
    /// The `cudnnStatus_t`.
    pub status: i32,
    /// The algorithm, if one was chosen.
    pub algorithm: Option<Algorithm>,
    /// cuDNN's message; empty if there is none.
    pub last_error: String,
    /// CUDA's error after the call.
    pub gpu: Option<i32>,
    /// The GPU's memory before or after the call, whichever had less free.
    pub memory: Option<device_memory::Memory>,
}

impl CudnnError {
    /// Returns `true` if the status means that sub-libraries are missing or have another version.
    pub fn is_mismatch(&self, major: u32) -> bool {
        status::is_mismatch(self.status, major)
    }

    /// Returns `true` if the error only means that a kind of convolution is not supported.
    ///
    /// If refusals do not count as faults (`counts`), this is every error except mixed sub-libraries, a lack of memory
    /// and a failed GPU.
    pub fn is_excused(&self, major: u32, counts: bool) -> bool {
        if self.gpu.is_some() {
            return false;
        }
        let is_other = !self.is_mismatch(major) && !self.lacks_memory(major);
        status::may_be_unsupported(self.status, major) || !counts && is_other
    }

    /// Returns `true` if the GPU probably had too little memory. Missing or mixed sub-libraries have their own status,
    /// even with little memory.
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
        // The limits are for large GPUs; a small one has enough with half of its memory.
        Some(memory.free).filter(|free| *free < enough.min(memory.total / 2))
    }
}

/// Returns `true` for a `CUresult` after cuDNN's work that is neither cuDNN's fault nor the program's.
pub fn is_outside_cudnn(code: i32) -> bool {
    is_memory(code) || is_elsewhere(code)
}

/// Returns `true` if the `CUresult` means that there is too little memory.
pub fn is_memory(code: i32) -> bool {
    code == 2
}

/// Returns `true` if the `CUresult` means that the GPU is busy or broken, not that something is incompatible.
pub fn is_elsewhere(code: i32) -> bool {
    is_hardware(code) || matches!(code, 4 | 46 | 101 | 702 | 800 | 802 | 805..=810 | 999)
}

/// Returns `true` if the `CUresult` is about the GPU's memory, its links or the system.
pub fn is_hardware(code: i32) -> bool {
    matches!(code, 214 | 220 | 226 | 304)
}
