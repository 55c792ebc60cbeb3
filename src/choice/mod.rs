//! Which toolkit and which cuDNN are taken, and what is said where there is none.

pub mod cuda_mismatch;
pub mod findings;
pub mod incomplete_toolkit;
pub mod message_format;
pub mod not_found;
pub mod pair;
pub mod requirement;
pub mod variable_findings;
