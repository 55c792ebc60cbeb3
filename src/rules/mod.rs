//! Decisions: plain data in, plain data out, tested with literals.
pub mod nvcc;
pub mod select;
