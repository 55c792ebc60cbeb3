//! Rows of the version tables in build-support/compat. The build reads all of them; a program contains the rows that it
//! may need.

use crate::runtime::facts::{Target, Version};

/// The rows in a program. Without a row, the result of its check is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// The GPUs that a cuDNN supports, for the architecture of the program.
    pub gpus: Vec<CudnnTargets>,
    pub known_bad: Vec<KnownBad>,
    /// The first driver that supports any program of a CUDA major.
    pub drivers: Vec<(u32, String)>,
    /// The first CUDA whose driver supports the PTX in the program.
    pub ptx: Option<Version>,
    /// Versions, each with the first digits of the build IDs of its libraries that have no version symbol, separated by
    /// spaces.
    pub build_ids: Vec<(Version, String)>,
}

/// The number of digits of a build ID in [`Tables::build_ids`].
pub const BUILD_ID_DIGITS: usize = 8;

/// The device code that all core sub-libraries of a range of cuDNN versions contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudnnTargets {
    /// The first version that was read.
    pub first: Version,
    /// The last version that was read and has the same code.
    pub last: Version,
    /// The CUDA major that they were built for.
    pub cuda: u32,
    pub code: Vec<Target>,
}

/// The operation that every program is expected to use: the guard tests it by default.
pub const CONV: &str = "conv";
/// The word of `needs` for a program that uses the CUDA provider of ONNX Runtime.
pub const ONNXRUNTIME: &str = "onnxruntime";

/// The end of a range that has none.
pub const EVERY_LATER: Version = Version::new(u32::MAX, 0, 0);

/// Versions of cuDNN with a known fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownBad {
    /// The first version with the fault.
    pub from: Version,
    /// The first version that is not known to have the fault; [`EVERY_LATER`] if the fault is in cuBLAS.
    pub below: Version,
    /// The first version that is known to be without the fault, if any is.
    pub good: Option<Version>,
    /// `true` if only a machine with several GPUs shows the fault.
    pub several_gpus: bool,
    /// The first cuBLAS with which the fault occurs, if it depends on cuBLAS.
    pub cublas: Option<Version>,
    /// The first cuBLAS that is known to be without the fault.
    pub good_cublas: Option<Version>,
    /// The only operation with the fault, if not all have it: `conv3d-bf16`, or [`CONV`].
    pub operation: Option<String>,
    /// `true` if the fault depends on more than the version and the operation: on the shapes or the GPU.
    pub partial: bool,
    /// The first and the last GPU with the fault, as in `sm_90`; 0 and [`u32::MAX`] for all.
    pub first_gpu: u32,
    pub last_gpu: u32,
    /// The effect, as it reads after "is known to".
    pub what: String,
}
