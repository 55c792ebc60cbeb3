//! Running nvcc, and explaining its failures.

pub mod diagnostics;
pub mod missing;
pub mod wrapper;
