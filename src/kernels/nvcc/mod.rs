//! Running nvcc, and explaining its failures.

pub mod death;
pub mod diagnostics;
pub mod missing;
pub mod own_copy;
pub mod retry;
pub mod verbose;
pub mod wrapper;
