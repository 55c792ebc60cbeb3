//! cuDNN's functions, with their types in NVIDIA's headers.

pub mod algorithm;
pub mod data_type;
pub mod descriptor;
pub mod functions;
pub mod graph_signatures;
pub mod operation;
pub mod owned_descriptor;
pub mod shape;
pub mod signatures;
pub mod status;
