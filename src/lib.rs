//! Finds CUDA and cuDNN from `build.rs`, links them, compiles kernels, and guards the program at start-up against a
//! cuDNN that does not fit the one it was built with.
//!
//! The build script says what it wants in a [`Config`]. [`Config::probe`] looks at this machine and gives a
//! [`Toolchain`], or an [`Error`] that says what was found, where, and what to do. The toolchain links
//! ([`Toolchain::link`]), compiles ([`Toolchain::kernels`]) and writes the runtime guard ([`Toolchain::guard`]):
//!
//! ```no_run
//! use cudnn_guard::Config;
//!
//! cudnn_guard::build(|| {
//!     let gpu = Config::new().cuda(">=12.0").cudnn(">=9.1, <10").probe()?;
//!     gpu.link();
//!     gpu.kernels().files("src/kernels/*.cu").compile("kernels")?;
//!     gpu.guard().write()
//! });
//! ```
//!
//! The guard is a file, `$OUT_DIR/cudnn_guard.rs`, that depends on the standard library alone. The program includes it
//! and calls `startup()` first thing in `main`:
//!
//! ```ignore
//! mod cudnn_guard { include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs")); }
//!
//! fn main() {
//!     cudnn_guard::startup();
//! }
//! ```
//!
//! Every finding has an id, which stands in brackets behind its headline; [`findings`] says what each means.
//! Verdicts have three values. What does not fit is *fail*; what was not checked is *unknown*, and unknown goes on.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests make and read machines of their own

mod choice;
mod compat;
mod config;
mod cudnn;
mod error;
// The texts are long, and a build script has no use for them.
#[cfg(doc)]
pub mod findings;
mod guard;
mod host_compiler;
#[cfg(feature = "cli")]
mod inspection;
mod kernels;
mod link;
mod loader;
mod model;
mod report;
mod search;
mod system;
mod targets;
mod toolchain;
mod toolkit;

pub use config::{Config, Link};
pub use error::Error;
pub use guard::Guard;
#[cfg(feature = "cli")]
pub use inspection::Inspection;
pub use kernels::Kernels;
pub use link::Linked;
pub use model::arch::{Code, ComputeCapability, Suffix, Target};
pub use model::facts::{Loader, Policy};
pub use model::finding::{Finding, Severity, Verdict};
pub use model::json::Json;
pub use model::target_list::TargetList;
pub use model::version::Version;
pub use report::Report;
pub use report::target_report::TargetReport;
pub use toolchain::Toolchain;

use system::directive::Directive;

/// Runs a build script. An error becomes `cargo::error` lines, so that cargo shows its text and nothing of this
/// program around it, and fails the build.
pub fn build(script: impl FnOnce() -> Result<(), Error>) {
    if let Err(error) = script() {
        for line in error.to_string().lines() {
            system::cargo::emit(&Directive::Error(line.to_string()));
        }
    }
}
