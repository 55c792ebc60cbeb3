//! The rules of compatibility, over plain values.

pub mod gpu_support;
#[cfg(feature = "runtime")]
pub mod program_rules;
pub mod rules;
