//! The runtime, which is in build-support/guard.

#[path = "../build-support/guard/mod.rs"]
#[allow(
    clippy::disallowed_methods,
    reason = "the runtime reads the environment and the files of its program"
)]
#[allow(
    clippy::missing_errors_doc,
    reason = "the types of the errors document them"
)]
// A build script uses only some of it.
#[cfg_attr(not(feature = "runtime"), allow(dead_code, unused_imports))]
pub mod runtime;
