//! The runtime, whose files are outside of src.

#[path = "../build-support/guard/mod.rs"]
#[allow(
    clippy::disallowed_methods,
    reason = "it reads the environment and the files of the program that it is in"
)]
// A build script uses only some of it.
#[cfg_attr(not(feature = "runtime"), allow(dead_code, unused_imports))]
pub mod runtime;
