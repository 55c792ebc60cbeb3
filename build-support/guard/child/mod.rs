//! The child process that tests the driver and cuDNN: a crash there does not stop the program.

pub mod exit_status;
pub mod in_process;
pub mod no_fork;
pub mod process_lock;
pub mod protocol;
pub mod rdma;
pub mod task;
pub mod time_left;
pub mod work;

/// The receiver of a child's lines. Each line is written at once, so that the lines before a crash are known.
pub type Sink<'a> = &'a (dyn Fn(&str) + Sync);

// The kinds of Linux that `system` supports. Elsewhere, no child is created.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod fork;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use self::fork as process;

#[cfg(windows)]
pub mod entry;
#[cfg(windows)]
pub mod spawn;
#[cfg(windows)]
pub use self::spawn as process;

#[cfg(not(any(
    windows,
    all(
        target_os = "linux",
        target_env = "gnu",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )
)))]
pub use self::no_fork as process;
pub use exit_status::{ChildExit, ExitStatus};
pub use in_process::{on_enough_stack, with_large_stack};
pub use protocol::ChildReport;
pub use task::{Functions, REAL, Task};
pub use time_left::TimeLeft;
pub use work::{ChildOutcome, ForkObstacle, SecondTry};
