//! cuDNN's functions, with their types as NVIDIA's headers have them.

pub mod descriptor;
pub mod functions;
pub mod graph;
pub mod graph_signatures;
pub mod owned_descriptor;
pub mod signatures;
pub mod status;
