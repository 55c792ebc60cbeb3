//! nvcc: missing, refused or failed.
