//! cuDNN's functions, with their types as NVIDIA's headers have them.

#[cfg(feature = "runtime")]
pub mod descriptor;
#[cfg(feature = "runtime")]
pub mod functions;
#[cfg(feature = "runtime")]
pub mod graph;
#[cfg(feature = "runtime")]
pub mod graph_signatures;
#[cfg(feature = "runtime")]
pub mod signatures;
#[cfg(feature = "runtime")]
pub mod status;
