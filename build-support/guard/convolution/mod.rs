//! Small convolutions on the GPU, held against the same numbers computed here.

#[cfg(feature = "runtime")]
pub mod algorithm;
#[cfg(feature = "runtime")]
pub mod case;
#[cfg(feature = "runtime")]
pub mod case_result;
#[cfg(feature = "runtime")]
pub mod cudnn_error;
#[cfg(feature = "runtime")]
pub mod data_type;
#[cfg(feature = "runtime")]
pub mod failure;
#[cfg(feature = "runtime")]
pub mod graph_engines;
#[cfg(feature = "runtime")]
pub mod reference;
#[cfg(feature = "runtime")]
pub mod run_case;
#[cfg(feature = "runtime")]
pub mod shape;
#[cfg(feature = "runtime")]
pub mod suite;
#[cfg(feature = "runtime")]
pub mod tolerance;
