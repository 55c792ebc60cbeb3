//! Chooses a toolkit and a cuDNN, and explains why none can be used.

pub mod context;
pub mod cuda_mismatch;
pub mod findings;
pub mod incomplete_toolkit;
pub mod not_found;
pub mod pair;
pub mod requirement;
pub mod variable_findings;

pub use context::CheckContext;
pub use requirement::{Requirement, Requirements};
