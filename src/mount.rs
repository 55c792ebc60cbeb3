//! The runtime, whose files lie outside of src.

#[path = "../build-support/guard/mod.rs"]
#[allow(
    clippy::disallowed_methods,
    reason = "it reads the environment and the files of the program that it is in"
)]
// A build script needs some of it and shows none: what nothing calls is then not compiled.
#[cfg_attr(not(feature = "runtime"), allow(dead_code, unused_imports))]
pub mod runtime;
