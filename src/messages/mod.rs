//! All messages of a build and of the terminal program, one file per topic.
//!
//! A rule returns a fault, a plain value with a method `finding()`, or calls a method of the type that the fault is
//! about. Both are in this module, which decides severity, headline, evidence and help. No other module imports this
//! one. The messages of the running program are in `runtime::messages`, in the same form.

mod build_script;
#[cfg(feature = "cli")]
mod cuda_libraries;
#[cfg(feature = "cli")]
mod cudarc;
mod cudnn;
mod host_compiler;
#[cfg(feature = "cli")]
mod inspection;
mod kernels;
mod libraries;
mod linking;
mod not_found;
mod nvcc;
mod phrases;
mod system;
mod targets;
#[cfg(feature = "cli")]
mod terminal;
mod toolkit;
mod variables;
