//! The rules of compatibility that the build and the running program share.

use crate::runtime::facts::{Built, CONV, ComputeCapability, KnownBad, Policy, Version, majors};
use std::fmt::Display;

/// A GPU of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu<'a> {
    pub name: &'a str,
    pub capability: ComputeCapability,
    /// `false` if the program may run without this GPU.
    pub is_required: bool,
}

impl<'a> Gpu<'a> {
    /// Creates a GPU that the program requires.
    pub fn new(name: &'a str, capability: ComputeCapability) -> Self {
        Self {
            name,
            capability,
            is_required: true,
        }
    }
}

/// PTX of a CUDA version that the driver does not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewerPtx {
    /// The CUDA version of the PTX.
    pub cuda: Version,
    /// The newest CUDA that the driver supports.
    pub driver: Version,
}

/// A version that is newer than the newest known one.
pub struct NewerVersion {
    /// `cuDNN` or `CUDA`.
    pub product: &'static str,
    pub found: String,
    pub known: String,
}

impl NewerVersion {
    pub fn new(product: &'static str, found: impl Display, known: impl Display) -> Self {
        Self {
            product,
            found: found.to_string(),
            known: known.to_string(),
        }
    }
}

/// The effect of a known fault of cuDNN on a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impact {
    /// The program uses the operation that has the fault.
    Used,
    /// Every program can meet the fault.
    General,
    /// Only an operation that few programs use has the fault, or only a machine with several GPUs shows it.
    Possible,
}

/// Returns the majors of the versions that the program may load, the newest first.
pub fn majors(built: &Built) -> Vec<u32> {
    match (built.policy, &built.requirement, built.cudnn) {
        (Policy::Requirement, Some(required), _) | (_, Some(required), None) => {
            let last = match required.below {
                Some(below) if below > Version::new(below.major, 0, 0) => below.major,
                Some(below) => below.major.saturating_sub(1),
                // The requirement has no upper bound: the last major to try is the one after the newest known.
                None => majors::NEWEST_CUDNN + 1,
            };
            let first = required.from.major.max(majors::OLDEST_CUDNN);
            let last = last.max(first).min(first.saturating_add(8));
            (first..=last).rev().collect()
        }
        (_, _, Some(with)) => vec![with.major],
        (_, None, None) => majors::CUDNN.to_vec(),
    }
}

/// Returns the known faults of this cuDNN and their effects on the program. `needs` names the operations that the
/// program uses; `gpus` is `None` if the GPUs are not known yet. A partial fault counts only if the program uses the
/// operation or is expected to use it, and if a known GPU shows the fault.
pub fn known_bad<'a>(
    rows: &'a [KnownBad],
    cudnn: Version,
    cublas: Option<Version>,
    gpus: Option<&[ComputeCapability]>,
    needs: &[String],
) -> Vec<(&'a KnownBad, Impact)> {
    let mut found = Vec::new();
    for row in rows {
        if cudnn < row.from || row.below <= cudnn {
            continue;
        }
        if row.several_gpus && gpus.is_some_and(|gpus| gpus.len() < 2) {
            continue;
        }
        let is_good = |cublas| {
            Some(cublas) < row.cublas || row.good_cublas.is_some_and(|good| good <= cublas)
        };
        if row.cublas.is_some() && cublas.is_none_or(is_good) {
            continue;
        }
        let range = row.first_gpu..=row.last_gpu;
        let is_affected = |gpu: &ComputeCapability| range.contains(&gpu.number());
        if row.first_gpu > 0 && !gpus.unwrap_or_default().iter().any(is_affected) {
            continue;
        }
        let operation = row.operation.as_ref();
        let is_used = operation.is_some_and(|operation| needs.contains(operation));
        let is_expected = row.operation.as_deref() == Some(CONV);
        if row.partial && !is_used && !is_expected {
            continue;
        }
        let impact = match &row.operation {
            Some(_) if is_used => Impact::Used,
            Some(_) => Impact::Possible,
            None if row.several_gpus && gpus.is_none() => Impact::Possible,
            None => Impact::General,
        };
        found.push((row, impact));
    }
    found
}
