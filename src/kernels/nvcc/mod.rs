//! Running nvcc, and explaining its failures.

pub mod death;
pub mod diagnostics;
pub mod missing;
pub mod warnings;
pub mod wrapper;
