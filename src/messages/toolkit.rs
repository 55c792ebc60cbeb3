//! A CUDA toolkit that lacks something, and libraries that are not installed.
