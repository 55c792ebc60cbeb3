//! The runtime guard: checks that the cuDNN that a program loads is compatible with the program's build, and works.
//!
//! The build script writes `$OUT_DIR/cudnn_guard.rs` (`cudnn_guard::Toolchain::guard`, feature `build`), and the
//! program includes it:
//!
//! ```ignore
//! mod gpu { include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs")); }
//!
//! fn main() {
//!     gpu::startup();              // fail: prints and exits with 78. unknown: prints and returns. pass: silent
//! }
//! ```
//!
//! The file contains the facts of the build as `BUILT`, and functions that call the methods of [`BuiltRecord`]. The page
//! `guide::guard` of the crate's documentation lists the functions with their results, and describes their checks and
//! the child process. `guide::searching` lists the variables.

pub(crate) mod internals;

pub(crate) use self::internals::*;

#[cfg(feature = "runtime")]
pub use self::driver::query::{Device, Driver};
#[cfg(feature = "runtime")]
pub use self::facts::built_record::BuiltRecord;
pub use self::facts::compute_capability::ComputeCapability;
pub use self::facts::finding::{Finding, Severity, Verdict};
pub use self::facts::finding_id::FindingId;
pub use self::facts::linked_in::LinkedIn;
pub use self::facts::version::Version;
#[cfg(all(feature = "runtime", any(target_os = "linux", windows)))]
pub use self::lazy::on_missing;
#[cfg(feature = "runtime")]
pub use self::report::result::{Failure, Report};
