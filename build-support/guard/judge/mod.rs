//! The rules of compatibility, over plain values.

pub mod gpu_support;
#[cfg(feature = "runtime")]
pub mod program_rules;
pub mod rules;

pub use gpu_support::{Cudnn, GpuSupport, SupportGap};
pub use rules::{Gpu, Impact, NewerPtx, NewerVersion};
