//! Finds CUDA and cuDNN from `build.rs`, links them, compiles kernels, and guards the program at start-up against a
//! cuDNN that is incompatible with the one it was built with.
//!
//! The build script describes its requirements in a [`Config`]. [`Config::probe`] searches this machine and returns a
//! [`Toolchain`], or an [`Error`] that reports what was found, where, and how to fix it. The toolchain links
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
//! The guard is a file, `$OUT_DIR/cudnn_guard.rs`, that passes the facts about this build to [`runtime`]. The program
//! depends only on that feature of this crate:
//!
//! ```toml
//! [dependencies]
//! cudnn-guard = { path = "../cudnn-guard", default-features = false, features = ["runtime"] }
//! [build-dependencies]
//! cudnn-guard = { path = "../cudnn-guard" }
//! ```
//!
//! The program includes the file and calls `startup()` first in `main`:
//!
//! ```ignore
//! mod gpu { include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs")); }
//!
//! fn main() {
//!     gpu::startup();
//! }
//! ```
//!
//! The [`guide`] describes the search order and all variables, linking, frameworks, kernels, the guard's functions
//! ([`guide::guard`]), the command line ([`guide::cli`]) and its JSON ([`guide::schema`]). Every finding has an id, which
//! is in brackets after its headline. [`findings`] explains each of them. A verdict is pass, fail or unknown. If
//! something cannot be checked, the verdict is unknown and the program continues.

#![warn(clippy::missing_errors_doc, clippy::undocumented_unsafe_blocks)]
#![cfg_attr(not(test), deny(unsafe_code))]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests create and read fake machines

mod mount;
// In a checkout, the tests' dependency on this crate enables the features; a published package has no such dependency.
#[cfg(all(test, not(all(feature = "cli", feature = "runtime"))))]
compile_error!("the tests need all features: `cargo test --features cli`");
#[cfg(not(feature = "runtime"))]
use mount::runtime;
#[cfg(feature = "runtime")]
pub use mount::runtime;
/// The names that generated files and the tests of this crate use, which are other crates. It exists only with the
/// feature, so that rustc names the feature if it is missing.
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod internals {
    pub use crate::runtime::internals::*;
    pub use crate::runtime::*;
}

#[cfg(feature = "build")]
mod choice;
#[cfg(feature = "cli")]
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "the CLI reads its own variables, runs pip and cargo, and prints to the terminal"
)]
pub mod cli;
#[cfg(feature = "build")]
mod compat;
#[cfg(feature = "build")]
mod config;
#[cfg(feature = "build")]
mod cudnn;
#[cfg(feature = "build")]
mod error;
/// The meaning of each finding, how to check it by hand, and how to fix it. `cudnn-guard explain ID` prints the same
/// texts.
///
/// The id is in brackets after a headline and in JSON under `id`. [`Config::allow`] and `CUDNN_GUARD_ALLOW` accept it.
#[cfg(doc)] // the texts are long, and a build script has no use for them
#[doc = include_str!("../docs/findings.md")]
pub mod findings {}
#[cfg(feature = "build")]
mod guard;
#[cfg(any(doc, doctest))]
pub mod guide {
    //! The guide, with examples: the pages of `docs` in the repository.

    /// [guard]: crate::guide::guard
    /// [kernels]: crate::guide::kernels
    /// [variables]: crate::guide::searching#variables
    #[doc = include_str!("../docs/cli.md")]
    pub mod cli {}

    /// [kernels]: crate::guide::kernels
    /// [lazy]: crate::guide::linking#a-program-that-starts-without-cuda
    /// [python]: crate::guide::python
    /// [sys]: crate::guide::linking#library-crates--sys-crates-and-workspaces
    #[doc = include_str!("../docs/frameworks.md")]
    pub mod frameworks {}

    /// [guard]: crate::guide::guard
    /// [kernels]: crate::guide::kernels
    #[doc = include_str!("../docs/searching.md")]
    pub mod searching {}

    /// [guard]: crate::guide::guard#before-a-program-runs
    #[doc = include_str!("../docs/linking.md")]
    pub mod linking {}

    /// [migration]: crate::guide::migration
    #[doc = include_str!("../docs/kernels.md")]
    pub mod kernels {}

    /// [kernels]: crate::guide::kernels#the-builder
    #[doc = include_str!("../docs/migration.md")]
    pub mod migration {}

    /// [guard]: crate::guide::guard#how-it-works
    #[doc = include_str!("../docs/python.md")]
    pub mod python {}

    /// [linking]: crate::guide::linking#library-crates--sys-crates-and-workspaces
    /// [schema]: crate::guide::schema
    /// [variables]: crate::guide::searching#variables
    #[doc = include_str!("../docs/guard.md")]
    pub mod guard {}

    /// The JSON Schema of all documents that the programs and the guard write. [`guard`] describes it.
    #[doc = concat!("```json\n", include_str!("../docs/report.schema.json"), "\n```")]
    pub mod schema {}

    #[cfg(doctest)]
    #[doc = include_str!("../README.md")]
    pub mod readme {}
}
#[cfg(feature = "build")]
mod host_compiler;
#[cfg(feature = "cli")]
mod inspection;
#[cfg(feature = "build")]
mod kernels;
#[cfg(feature = "build")]
mod link;
#[cfg(feature = "build")]
mod loader;
#[cfg(feature = "build")]
mod messages;
#[cfg(feature = "build")]
mod model;
#[cfg(feature = "build")]
mod reading;
#[cfg(feature = "build")]
mod report;
#[cfg(feature = "build")]
mod search;
#[cfg(feature = "build")]
mod system;
#[cfg(feature = "build")]
mod targets;
#[cfg(feature = "build")]
mod toolchain;
#[cfg(feature = "build")]
mod toolkit;

#[cfg(feature = "build")]
pub use {
    config::{Config, Link},
    error::Error,
    guard::Guard,
    kernels::Kernels,
    kernels::options::{Cudart, DefaultStream},
    kernels::sources::Patterns,
    link::Linked,
    model::target_list::TargetList,
    report::ToolchainReport,
    runtime::facts::built::{Loader, Policy},
    runtime::facts::compute_capability::{Code, ComputeCapability, Suffix, Target},
    runtime::facts::finding::{Finding, Severity, Verdict},
    runtime::facts::finding_id::FindingId,
    runtime::facts::version::Version,
    toolchain::Toolchain,
};
#[cfg(feature = "cli")]
pub use {inspection::Inspection, report::target_report::TargetReport};

#[cfg(feature = "build")]
use system::directive::Directive;

// Items for the targets in `fuzz`. cargo-fuzz sets `fuzzing` for every crate, even if another package is fuzzed.
#[cfg(all(fuzzing, feature = "cli"))]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::choice::requirement::Requirements;
    pub use crate::compat::{cargo_lock, cudarc};
    pub use crate::cudnn::device_code;
    pub use crate::kernels::nvcc::diagnostics;
    pub use crate::model::environment::Environment;
    pub use crate::model::library::Library;
    pub use crate::model::platform::Os;
    pub use crate::model::target_list::Gencode;
    pub use crate::model::text::version_header;
    pub use crate::runtime::facts::library_name::LibraryName;
    pub use crate::system::{Host, directive, files, path_encoding};
    pub use crate::targets::dialect;
    pub use crate::toolkit::nvcc_command::{Product, parse_depfile};
    pub use crate::toolkit::{nvcc_output, version_file};

    pub mod host_compiler {
        pub use crate::host_compiler::{
            alternative_names, headers, limits, parse_answer, parse_command, query,
        };
    }

    pub fn target_list(gencodes: Vec<Gencode>) -> crate::TargetList {
        crate::TargetList::new(gencodes)
    }
}

/// Runs a build script. An error becomes `cargo::error` lines, followed by its
/// [sources](std::error::Error::source), and fails the build. cargo shows only these lines.
///
/// In the closure, `?` converts this crate's errors and the common standard library errors that [`Error`] lists. No
/// type has to be named:
///
/// ```no_run
/// cudnn_guard::build(|| {
///     let gpu = cudnn_guard::Config::new().cudnn(">=9").probe()?;
///     gpu.link();
///     let model = std::env::var("MODEL")?;
///     std::fs::copy(model, "model.onnx")?;
///     Ok(())
/// });
/// ```
///
/// [`Error::other`] converts other errors, including those of functions with another return type, if they can become a
/// `Box<dyn std::error::Error>`.
#[cfg(feature = "build")]
pub fn build(script: impl FnOnce() -> Result<(), Error>) {
    system::out_dir::remove_stale_guard(&Config::new().host().env);
    if let Err(error) = script() {
        for line in error.to_string().lines() {
            system::cargo::emit(&Directive::Error(line.to_string()));
        }
    }
}
