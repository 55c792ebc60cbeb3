//! What fits and what does not: rules over plain values.

pub mod gpu_support;
pub mod rules;
