//! The majors of cuDNN and CUDA that are known. A new one is one row here.

/// The majors of cuDNN whose sub-libraries are known, the newest first.
pub const CUDNN: &[u32] = &[9, 8];

/// The majors of CUDA that NVIDIA publishes a cuDNN for, the newest first.
pub const CUDA: &[u32] = &[13, 12, 11];

/// The newest major of cuDNN.
pub const NEWEST_CUDNN: u32 = CUDNN[0];

/// The oldest major of cuDNN that is known.
pub const OLDEST_CUDNN: u32 = CUDNN[CUDNN.len() - 1];

/// The newest major of CUDA.
pub const NEWEST_CUDA: u32 = CUDA[0];

/// The CUDA major that a command names if nothing tells which one is meant.
pub const USUAL_CUDA: u32 = 12;
