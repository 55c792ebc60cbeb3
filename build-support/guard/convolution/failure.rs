//! The failures of a convolution.
//!
//! Only faults and refusals of cuDNN itself fail. Errors of CUDA and a lack of memory leave the verdict unknown.

use crate::runtime::convolution::{Case, Comparison, CudnnError};
use crate::runtime::cudnn::{Algorithm, DataType, status};
use crate::runtime::driver::call::CallStatus;
use crate::runtime::driver::device_memory::Breach;
use crate::runtime::facts::{ComputeCapability, Version};

/// The variable that makes cuDNN round single precision, or not, whatever the program requests.
pub const OVERRIDE: &str = "NVIDIA_TF32_OVERRIDE";

pub struct CaseSuccess {
    /// The largest distance from the CPU's result.
    pub largest_error: f64,
    pub algorithm: Algorithm,
    /// `true` if single precision was rounded to TF32; `None` if unknown.
    pub tf32: Option<bool>,
}

/// A convolution without a right result, with the context that decides the severity.
pub struct FailedCase<'a> {
    pub failure: &'a CaseFailure,
    pub version: Version,
    /// The name of the GPU.
    pub device: &'a str,
    pub case: &'a Case,
    /// `true` if a refusal counts as a fault, which stops the program.
    pub counts: bool,
    /// `true` if the program's own work in the same context may have failed instead.
    pub in_doubt: bool,
}

/// The reason why a convolution is not supported.
pub enum Unsupported {
    /// The data type requires a higher compute capability than this one.
    Capability(ComputeCapability, DataType),
    /// The sub-library of this file name is missing.
    MissingPart(String),
    /// The graph API offers no engine.
    NoEngine,
    /// This engine rounds single precision.
    Rounds(Algorithm),
    /// This cuDNN does not contain this function.
    MissingFunction(&'static str),
    /// This algorithm would need too large a workspace, in bytes.
    Workspace(usize, Algorithm),
}

/// A pattern that all numbers of a wrong result share.
pub enum WrongEverywhere {
    Unwritten,
    Zero,
    /// Each is rounded as bf16 is.
    Bfloat16,
}

/// The reason why there is no right result.
pub enum CaseFailure {
    /// It was not tested.
    Unsupported(Unsupported),
    /// The GPU's memory is full, so cuDNN was not called.
    Full {
        /// Free bytes.
        free: usize,
    },
    /// CUDA failed before the call of cuDNN.
    Gpu(CallStatus),
    /// cuDNN failed or refused.
    Cudnn(CudnnError),
    /// cuDNN succeeded, but then the GPU failed.
    Crashed {
        /// The `CUresult`.
        code: i32,
        algorithm: Algorithm,
    },
    /// cuDNN wrote outside a buffer.
    Breach {
        /// The buffer's use.
        buffer: &'static str,
        place: Breach,
        algorithm: Algorithm,
    },
    /// Single precision was rounded to TF32.
    Rounded {
        comparison: Comparison,
        /// The tolerance at the worst place.
        allowed: f64,
        /// `true` if the variable [`OVERRIDE`] requests it.
        is_requested: bool,
        algorithm: Algorithm,
    },
    Wrong {
        comparison: Comparison,
        algorithm: Algorithm,
        /// The number at the worst place.
        found: f32,
        expected: f64,
        allowed: f64,
        /// The pattern in all numbers, if there is one.
        all: Option<WrongEverywhere>,
    },
}

impl CaseFailure {
    /// Returns `true` if cuDNN did not compute it, although another algorithm or engine may.
    pub fn is_refusal(&self) -> bool {
        matches!(self, CaseFailure::Cudnn(_) | CaseFailure::Unsupported(_))
    }

    /// Returns `true` if cuDNN only reports that it does not offer this.
    pub fn is_not_supported(&self, version: Version) -> bool {
        match self {
            CaseFailure::Cudnn(error) => status::is_not_supported(error.status, version.major),
            CaseFailure::Unsupported(Unsupported::Workspace(..)) => true,
            _ => false,
        }
    }

    /// Returns `true` if the legacy API declined, although the graph API may compute it.
    pub fn is_declined(&self, version: Version) -> bool {
        match self {
            CaseFailure::Cudnn(error) => {
                version.major >= 9 && error.gpu.is_none() && status::is_declined(error.status)
            }
            _ => false,
        }
    }

    pub fn is_rounded(&self) -> bool {
        matches!(self, CaseFailure::Rounded { .. })
    }

    /// Returns the algorithm that ran or should have run.
    pub fn algorithm(&self) -> Option<Algorithm> {
        match self {
            CaseFailure::Cudnn(error) => error.algorithm,
            CaseFailure::Unsupported(Unsupported::Workspace(_, algorithm))
            | CaseFailure::Crashed { algorithm, .. }
            | CaseFailure::Breach { algorithm, .. }
            | CaseFailure::Rounded { algorithm, .. }
            | CaseFailure::Wrong { algorithm, .. } => Some(*algorithm),
            _ => None,
        }
    }

    /// Returns the largest distance from the right result, if there is a result.
    pub fn largest_error(&self) -> Option<f64> {
        match self {
            CaseFailure::Rounded { comparison, .. } | CaseFailure::Wrong { comparison, .. } => {
                Some(comparison.largest_error)
            }
            _ => None,
        }
    }

    /// Returns `true` if nothing can be computed afterwards: an error of the GPU stays with the context.
    pub fn ends_the_context(&self) -> bool {
        match self {
            CaseFailure::Cudnn(error) => error.gpu.is_some(),
            CaseFailure::Crashed { .. } | CaseFailure::Gpu(_) | CaseFailure::Full { .. } => true,
            _ => false,
        }
    }
}
