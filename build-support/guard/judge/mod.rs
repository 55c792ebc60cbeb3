//! The rules of compatibility, over plain values.

pub mod gpu_support;
pub mod rules;
