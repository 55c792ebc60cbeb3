//! How a convolution can go wrong, and what that means for the program.
//!
//! Only what cuDNN itself does wrong or refuses fails; what CUDA refuses, or a lack of memory, leaves it unknown.

use crate::runtime::convolution::case::Case;
use crate::runtime::convolution::cudnn_error::CudnnError;
use crate::runtime::convolution::tolerance::Comparison;
use crate::runtime::cudnn::algorithm::Algorithm;
use crate::runtime::cudnn::data_type::DataType;
use crate::runtime::cudnn::status;
use crate::runtime::driver::call::CallStatus;
use crate::runtime::driver::device_memory::Breach;
use crate::runtime::facts::compute_capability::ComputeCapability;
use crate::runtime::facts::finding::Verdict;
use crate::runtime::facts::version::Version;

/// The variable that makes cuDNN round single precision, or not, whatever the program says.
pub const OVERRIDE: &str = "NVIDIA_TF32_OVERRIDE";

/// A result that is right.
pub struct CaseSuccess {
    /// The largest distance from the CPU's.
    pub largest_error: f64,
    /// How it was computed.
    pub algorithm: Algorithm,
    /// Whether single precision was rounded, where that can be told.
    pub tf32: Option<bool>,
}

/// A convolution without a right result, with what decides how much that matters.
pub struct FailedCase<'a> {
    /// The failure.
    pub failure: &'a CaseFailure,
    /// The release of cuDNN.
    pub version: Version,
    /// The name of the GPU.
    pub device: &'a str,
    /// The convolution.
    pub case: &'a Case,
    /// Whether a refusal is a fault: one that is none stops no program.
    pub counts: bool,
    /// Whether the program's own work in the same context may have failed instead.
    pub in_doubt: bool,
}

/// Why a convolution was not tried.
pub enum Unserved {
    /// The data type begins with a later compute capability than this one.
    Capability(ComputeCapability, DataType),
    /// The data type begins with a later cuDNN.
    Release(DataType),
    /// The sub-library of this file name is missing.
    MissingPart(String),
    /// The graph API offers no engine.
    NoEngine,
    /// This engine rounds single precision.
    Rounds(Algorithm),
}

/// What all numbers of a wrong result have in common.
pub enum WrongEverywhere {
    /// None was written.
    Unwritten,
    /// Each is 0.
    Zero,
    /// Each is rounded as bf16 is.
    Bfloat16,
}

/// Why there is no right result.
pub enum CaseFailure {
    /// It was not tried.
    Unserved(Unserved),
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
        /// Whether the variable [`OVERRIDE`] asks for it.
        is_asked: bool,
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
        all: Option<WrongEverywhere>,
        /// The verdict on another engine, if one was asked; unknown if it failed.
        other: Option<(Algorithm, Verdict)>,
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
            let verdict = match result {
                Ok(_) => Verdict::Pass,
                Err(CaseFailure::Wrong { .. }) => Verdict::Fail,
                Err(_) => Verdict::Unknown,
            };
            *other = Some((by, verdict));
        }
        self
    }
}
