//! Every sentence of a build and of the terminal program: each fault becomes a finding here, in the file of its topic.
//!
//! A rule returns a fault, a plain value that says what it found. The `finding()` of that fault is written in this
//! module, and decides its severity, headline, evidence and help. No other module imports this one. The faults of the
//! running program have their sentences in `runtime::messages`, in the same form.

mod build_script;
mod cudnn;
mod environment;
#[cfg(feature = "cli")]
mod fetch;
mod guard;
mod host_compiler;
#[cfg(feature = "cli")]
mod inspection;
mod kernels;
mod libraries;
mod linking;
mod not_found;
mod nvcc;
mod phrases;
mod requirement;
mod static_link;
mod system;
mod targets;
#[cfg(feature = "cli")]
mod terminal;
mod toolkit;
mod variables;
