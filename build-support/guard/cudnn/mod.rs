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

pub use algorithm::Algorithm;
pub use data_type::{DataType, from_bfloat16, to_bfloat16};
pub use functions::{Cudnn, DeviceTensors};
pub use operation::Operation;
pub use shape::{Layout, Shape};
