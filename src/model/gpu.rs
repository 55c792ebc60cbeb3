//! A GPU of this machine.

use crate::runtime::facts::compute_capability::ComputeCapability;

/// A GPU, as its driver describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// As the driver calls it: `NVIDIA GeForce RTX 4090`.
    pub name: String,
    /// Its compute capability.
    pub capability: ComputeCapability,
}
