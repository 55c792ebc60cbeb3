//! The guard of a program: whether the cuDNN that it really loads fits what it was built with, and works.
//!
//! The build script writes `$OUT_DIR/cudnn_guard.rs` (`cudnn_guard::Toolchain::guard`, feature `build`), and the program
//! includes it:
//!
//! ```ignore
//! mod gpu { include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs")); }
//!
//! fn main() {
//!     gpu::startup();              // fail: prints and exits with 78. unknown: a few lines, and goes on. pass: silent
//! }
//! ```
//!
//! The file holds what the build knew as `BUILT`, and four functions that hand it to those here: `startup()`,
//! `check()`, `check_thoroughly()` and `check_version()`. Programs call them there; nobody else makes a [`Built`].
//!
//! ```ignore
//! match gpu::check() {             // never panics, never exits
//!     Ok(report) => run_on_gpu(report.library_path()),
//!     Err(failure) => run_on_cpu(failure.verdict(), failure.to_json()),
//! }
//! ```
//!
//! # What happens
//!
//! 1. The cuDNN to judge is the one in the process, else the one that the program would open, by the same names. In a
//!    library that is loaded into a process (a Python extension) what is there is judged, and nothing is opened.
//! 2. The file of each part is read (present, of this processor, not cut short, its release) before a line of cuDNN runs.
//! 3. Its release is held against [`Built`] under the [`Policy`], with the CUDA that it was built for.
//! 4. In a child process: the driver, the GPUs, cuDNN's handle, and small convolutions whose numbers are compared with
//!    those computed here. What crashes or hangs there does not take the program along. The parent never starts CUDA.
//! 5. After a pass the parent opens the very files that the child found to work.
//!
//! What fails in the child is tried again in a second one, and stops a program only if it fails there too.
//!
//! What does not fit is [`Verdict::Fail`]. What could not be checked is [`Verdict::Unknown`], and unknown goes on: no GPU,
//! a busy one, no child, a deadline, a system that is neither Linux with glibc, on x86_64 or aarch64, nor Windows on x86_64
//! (`platform-unsupported`), a program that was built without CUDA (`built-without-cuda`).
//!
//! # Variables
//!
//! | variable | |
//! |---|---|
//! | `CUDNN_GUARD=deny\|warn\|off` | whether `startup()` ends the program; `deny` unless set |
//! | `CUDNN_GUARD_REPORT=file.json` | the report is written there; `%p` is the process id |
//! | `CUDNN_GUARD_DEVICES=0,2` | the visible GPUs that are tried, or `all`; unless set the first one, or the one of this rank (`LOCAL_RANK`, `OMPI_COMM_WORLD_LOCAL_RANK`, `MPI_LOCALRANKID`, `PMI_LOCAL_RANK`, `PALS_LOCAL_RANKID`, `FLUX_TASK_LOCAL_ID`, `SLURM_LOCALID`, the first that is set) |
//! | `CUDNN_GUARD_DEADLINE=seconds` | how long the child may take; 60 unless set, and 300 for `check_thoroughly()` |
//! | `CUDNN_GUARD_REQUIRE_GPU=1` | no GPU, no driver that answers, or no cuDNN is a failure; `strict`: so is everything else that is unknown |
//! | `CUDNN_GUARD_ALLOW=id,id` | findings that are let pass, visibly |
//!
//! # Where things are
//!
//! `facts` what the build knew, and its record · `judge` the rules · `system` the operating system · `binary` files read
//! as bytes · `loader` where libraries are looked for · `install` the cuDNN that is taken, and its sub-libraries · `driver`,
//! `cudnn` NVIDIA's functions · `convolution` what is computed · `child` the process in which it is · `report` what came
//! of it · `check` the steps · `messages` the sentences. A room uses those before it.

#[doc(hidden)]
pub mod binary;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod child;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod convolution;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod cudnn;
#[doc(hidden)]
pub mod driver;
#[doc(hidden)]
pub mod facts;
#[doc(hidden)]
pub mod install;
#[doc(hidden)]
pub mod judge;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod loader;
#[doc(hidden)]
pub mod messages;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod system;

#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod check;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod startup;

#[cfg(feature = "runtime")]
pub use self::check::check;
#[cfg(feature = "runtime")]
pub use self::check::check_thoroughly;
#[cfg(feature = "runtime")]
pub use self::check::check_version;
pub use self::facts::built::{Built, BuiltFinding, Loader, Policy, Requirement};
#[cfg(feature = "runtime")]
pub use self::facts::built_record::BuiltRecord;
pub use self::facts::finding::{Finding, Severity, Verdict};
pub use self::facts::finding_id::FindingId;
pub use self::facts::linked_in::LinkedIn;
#[cfg(feature = "runtime")]
pub use self::report::result::Failure;
#[cfg(feature = "runtime")]
pub use self::report::result::Report;
#[cfg(feature = "runtime")]
pub use self::startup::startup;
