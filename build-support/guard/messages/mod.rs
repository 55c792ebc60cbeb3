//! Every sentence that the guard prints: each fault becomes a finding here, in the file of its topic.
//!
//! A rule returns a fault, a plain value that says what it found. The `finding()` of that fault is written in this
//! module, and decides its severity, headline, evidence and help. No other module imports this one.

#[cfg(feature = "runtime")]
pub mod check;
#[cfg(feature = "runtime")]
pub mod child;
pub mod convolution;
pub mod devices;
pub mod driver;
pub mod gpu_support;
pub mod loading;
pub mod not_found;
pub mod release;
pub mod sub_libraries;
#[cfg(feature = "runtime")]
pub mod variables;
