//! CUDA or cuDNN that was not found.
