//! Rows of the version tables in build-support/compat. The build reads them all; a program carries those that it may
//! need.

use crate::runtime::facts::compute_capability::Target;
use crate::runtime::facts::version::Version;

/// The rows that a program carries; without one, what would need it is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// Which GPUs a cuDNN serves, for the processor of the program.
    pub gpus: Vec<CudnnTargets>,
    /// Releases of cuDNN that are known to be bad.
    pub known_bad: Vec<KnownBad>,
    /// The first driver that serves programs of a CUDA major at all.
    pub drivers: Vec<(u32, String)>,
    /// The first CUDA whose driver takes the PTX in the program.
    pub ptx: Option<Version>,
    /// Releases, and the first digits of the build-ids of their libraries that do not tell it themselves, with blanks
    /// between them.
    pub build_ids: Vec<(Version, String)>,
}

/// So many digits of a build-id are carried.
pub const BUILD_ID_DIGITS: usize = 8;

/// The device code that every core part of these builds of cuDNN holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudnnTargets {
    /// The first release that was read.
    pub first: Version,
    /// The last of them with the same code.
    pub last: Version,
    /// The CUDA major that they were built for.
    pub cuda: u32,
    /// What is in them.
    pub code: Vec<Target>,
}

/// Releases of cuDNN that are known to be bad.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownBad {
    /// The first.
    pub from: Version,
    /// The first that is not known to be.
    pub below: Version,
    /// The first that is known to be good.
    pub good: Version,
    /// It shows only on several GPUs beside cuBLAS of this release or a later one.
    pub cublas: Option<Version>,
    /// The operation that it shows in, where it is not any: `conv3d-bf16`.
    pub operation: Option<String>,
    /// What it does, as it stands after "is known to".
    pub what: String,
}
