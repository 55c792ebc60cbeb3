//! The child process that tests the driver and cuDNN: a crash there does not stop the program.

pub mod exit_status;
pub mod in_process;
pub mod process_lock;
pub mod protocol;
pub mod rdma;
pub mod task;
pub mod time_left;
pub mod work;

/// The receiver of a child's lines. Each line is written at once, so that the lines before a crash are known.
pub type Sink<'a> = &'a (dyn Fn(&str) + Sync);

/// Creates the child. `process.rs` is for systems that `system` does not support, on which no child is created.
#[cfg_attr(
    all(
        target_os = "linux",
        target_env = "gnu",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ),
    path = "fork.rs"
)]
#[cfg_attr(windows, path = "spawn.rs")]
pub mod process;

pub use exit_status::{ChildExit, ExitStatus};
pub use in_process::{on_enough_stack, with_large_stack};
pub use protocol::ChildReport;
pub use task::{Functions, Task};
pub use time_left::TimeLeft;
pub use work::{ChildOutcome, ForkObstacle, SecondTry};
