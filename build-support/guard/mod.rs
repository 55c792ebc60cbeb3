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
//! The file contains the facts of the build as `BUILT`, and four functions that call the methods of [`BuiltRecord`]:
//! `startup()`, `check()`, `check_thoroughly()` and `check_version()`. If a program calls none of them, rustc warns that
//! the function `the_guard_is_never_called` is never used.
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
//! 1. The cuDNN to check is the one in the process, or else the one that the program would open, by the same names. A
//!    library that is loaded into a process (a Python extension) only checks a cuDNN in the process, and opens nothing.
//! 2. The file of each sub-library is read before code of cuDNN runs: existence, architecture, truncation, version.
//! 3. The version, and the CUDA that cuDNN was built for, are compared with those of the build under the policy.
//! 4. A child process tests the driver, the GPUs, cuDNN's handle, and small convolutions, whose results are compared
//!    with those of the CPU. A crash or a hang there does not stop the program. The parent never starts CUDA.
//! 5. After a pass the parent opens the files that worked in the child.
//!
//! After a failure in the child a second child repeats the test. The program is stopped only if that one fails too.
//!
//! An incompatibility is [`Verdict::Fail`]. If something cannot be checked, the verdict is [`Verdict::Unknown`], and the
//! program continues: no GPU, a busy one, no child, a deadline, a system other than Linux with glibc (x86_64 or
//! aarch64) and Windows (x86_64) (`platform-unsupported`), a program built without CUDA (`built-without-cuda`).
//!
//! # Variables
//!
//! | variable | |
//! |---|---|
//! | `CUDNN_GUARD=deny\|warn\|off` | whether `startup()` exits on a failure; default: `deny` |
//! | `CUDNN_GUARD_REPORT=file.json` | file for the report; `%p` is the process id |
//! | `CUDNN_GUARD_DEVICES=0,2` | the visible GPUs to test, or `all`; default: the first one, or the one of this rank (`LOCAL_RANK`, `OMPI_COMM_WORLD_LOCAL_RANK`, `MPI_LOCALRANKID`, `PMI_LOCAL_RANK`, `PALS_LOCAL_RANKID`, `FLUX_TASK_LOCAL_ID`, `SLURM_LOCALID`, the first that is set) |
//! | `CUDNN_GUARD_DEADLINE=seconds` | the time limit of the child; default: 60, and 300 for `check_thoroughly()` |
//! | `CUDNN_GUARD_REQUIRE_GPU=1` | fails if there is no GPU, no responding driver or no cuDNN, or if a library of ONNX Runtime's CUDA provider is missing; `strict`: also fails if anything else is unknown |
//! | `CUDNN_GUARD_ALLOW=id,id` | the findings to allow; they are still shown |

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
