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

/// Calls `entry::enter` before `main` in each program on Linux with a function that contains this. Then a program that only
/// calls `check_version()` does not contain the convolutions.
#[doc(hidden)]
#[macro_export]
macro_rules! enter_before_main {
    () => {
        #[cfg(all(
            target_os = "linux",
            target_env = "gnu",
            any(target_arch = "x86_64", target_arch = "aarch64")
        ))]
        {
            // SAFETY: the C library calls every function in this section once, before `main`. The number makes it the
            // first of the program's own constructors.
            #[unsafe(link_section = ".init_array.00100")]
            static ENTER: extern "C" fn() = $crate::internals::child::process::entry::enter;
            $crate::internals::child::process::entry::keep(&ENTER);
        }
    };
}
pub use crate::enter_before_main;
