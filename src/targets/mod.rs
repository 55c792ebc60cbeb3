//! GPU targets: the lists, the GPUs of this machine, the targets that nvcc supports, and the selection.

pub mod dialect;
pub mod gpu_names;
#[allow(unsafe_code, reason = "calls the driver through cudarc")]
pub mod gpus;
pub mod miscompiled;
pub mod nvcc_support;
pub mod nvcc_table;
pub mod select;
#[cfg(test)]
mod table;
pub mod target_lists;
pub mod target_request;

pub use dialect::{Dialect, Word};
pub use nvcc_support::Compiler;
pub use target_request::TargetRequest;
