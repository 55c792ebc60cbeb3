//! The child process in which the driver and cuDNN are tried: what would end it does not end the program.

pub mod exit_status;
pub mod in_process;
pub mod process_lock;
pub mod protocol;
pub mod rdma;
pub mod task;
pub mod work;

/// Where the lines go that a child tells: each is out at once, so that what was told before a crash is known.
pub type Sink<'a> = &'a (dyn Fn(&str) + Sync);

// Which Linux the guard knows, `system` says: on another one no child is made.
#[cfg(target_os = "linux")]
pub mod fork;
#[cfg(target_os = "linux")]
pub use self::fork as process;
#[cfg(target_os = "linux")]
pub mod stay;

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
