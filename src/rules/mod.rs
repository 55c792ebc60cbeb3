//! Decisions: plain data in, plain data out, tested with literals.
pub mod compile;
pub mod dialect;
pub mod nvcc;
pub mod select;
pub mod smi;
