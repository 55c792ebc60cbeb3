//! nvcc itself: that there is none, what runs it, and what its words mean.

pub mod diagnostics;
pub mod missing;
pub mod wrapper;
