//! Which toolkit and which cuDNN are taken, and what is said where there is none.

pub mod cuda_mismatch;
pub mod findings;
pub mod incomplete_toolkit;
pub mod message_format;
pub mod not_found;
pub mod read_install;
pub mod requirement;
pub mod scan;
pub mod select_pair;
pub mod unusable_variables;
pub mod variable_findings;
