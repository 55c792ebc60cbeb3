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

// `system` defines which kinds of Linux are supported. Elsewhere, no child is created.
#[cfg(target_os = "linux")]
pub mod fork;
#[cfg(target_os = "linux")]
pub mod signals;
#[cfg(target_os = "linux")]
pub use self::fork as process;

#[cfg(windows)]
pub mod entry;
#[cfg(windows)]
pub mod spawn;
#[cfg(windows)]
pub use self::spawn as process;

#[cfg(not(any(target_os = "linux", windows)))]
pub mod no_fork;
#[cfg(not(any(target_os = "linux", windows)))]
pub use self::no_fork as process;
