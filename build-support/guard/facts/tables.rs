//! Rows of the version tables in build-support/compat. The build reads them all; a program carries those that it may
//! need, as constants.

use crate::runtime::facts::version::Version;

/// The rows that a program carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Which GPUs a cuDNN serves, for the processor of the program.
    pub gpus: &'static [Gpus<'static>],
    /// Releases of cuDNN that are known to be bad.
    pub known_bad: &'static [KnownBad],
    /// The first driver that serves programs of a CUDA major at all.
    pub drivers: &'static [(u32, &'static str)],
    /// The first CUDA whose driver takes the PTX in the program.
    pub ptx: Option<Version>,
}

impl Tables {
    /// No rows: what would need one is unknown.
    pub const NONE: Tables = Tables {
        gpus: &[],
        known_bad: &[],
        drivers: &[],
        ptx: None,
    };
}

/// The device code that every core part of these builds of cuDNN holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpus<'a> {
    /// The first release that was read.
    pub first: Version,
    /// The last of them with the same code.
    pub last: Version,
    /// The CUDA major that they were built for.
    pub cuda: u32,
    /// Targets, with spaces between them: `sm_80 sm_90a compute_120`.
    pub code: &'a str,
}

/// Releases of cuDNN that are known to be bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub operation: Option<&'static str>,
    /// What it does, as it stands after "is known to".
    pub what: &'static str,
}
