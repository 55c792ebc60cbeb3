//! What becomes of the objects: a library, its device code linked, and CUDA's runtime behind it.

pub mod archive;
pub mod device_link;
pub mod runtime;
