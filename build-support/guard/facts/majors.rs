//! The known majors of cuDNN and CUDA. To add a new major, add its number here.

/// The majors of cuDNN whose sub-libraries are known, the newest first.
pub const CUDNN: &[u32] = &[9, 8];

/// The majors of CUDA that NVIDIA publishes a cuDNN for, the newest first.
pub const CUDA: &[u32] = &[13, 12, 11];

pub const NEWEST_CUDNN: u32 = CUDNN[0];
pub const OLDEST_CUDNN: u32 = CUDNN[CUDNN.len() - 1];
pub const NEWEST_CUDA: u32 = CUDA[0];

/// The CUDA major in suggested commands, if nothing else determines it.
pub const USUAL_CUDA: u32 = 12;
