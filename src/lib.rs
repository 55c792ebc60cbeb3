//! Finds CUDA and cuDNN from `build.rs`, links them, compiles kernels, and guards the program at start-up.

mod config;
mod error;
mod host;
mod kernels;
mod model;
mod report;
mod rules;
mod targets;
mod toolchain;

pub use config::{Config, Link};
pub use error::Error;
pub use kernels::Kernels;
pub use model::arch::{Code, ComputeCapability, Suffix, Target};
pub use model::finding::{Finding, Severity, Verdict};
pub use report::Report;
pub use toolchain::Toolchain;
