//! Everything that the result depends on.

pub mod depfile_source;
pub mod sources;
