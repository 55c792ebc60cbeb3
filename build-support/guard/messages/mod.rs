//! Every sentence that the guard prints: each fault becomes a finding here, in the file of its topic.
//!
//! A rule returns a fault, a plain value with a method `finding()`, or calls a method of the type that the fault is
//! about. Both are in this module, which decides severity, headline, evidence and help. No other module imports this
//! one.

#[cfg(feature = "runtime")]
pub mod check;
#[cfg(feature = "runtime")]
pub mod child;
#[cfg(feature = "runtime")]
pub mod convolution;
pub mod cuda_status;
pub mod defect;
#[cfg(feature = "runtime")]
pub mod devices;
pub mod driver;
pub mod gpu_support;
#[cfg(all(feature = "runtime", any(target_os = "linux", windows)))]
pub mod lazy;
pub mod load_origin;
#[cfg(feature = "runtime")]
pub mod loading;
#[cfg(feature = "runtime")]
pub mod not_found;
#[cfg(feature = "runtime")]
pub mod program;
pub mod refused_request;
pub mod sub_libraries;
#[cfg(feature = "runtime")]
pub mod unusable_driver;
#[cfg(feature = "runtime")]
pub mod variables;
