//! What the result rests on: the sources, the files that they read, nvcc and all that it runs.

pub mod depfile_source;
pub mod rerun;
pub mod sources;
pub mod toolchain_fingerprint;
