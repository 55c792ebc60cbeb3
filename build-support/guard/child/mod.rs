//! The child process in which the driver and cuDNN are tried: what would end it does not end the program.

pub mod child_verdict;
pub mod exit_status;
pub mod exit_verdict;
pub mod in_process;
pub mod pipe_sink;
pub mod process_lock;
pub mod protocol;
pub mod second_try;
pub mod task;
pub mod work;

#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub mod fork;
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
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
pub mod no_fork;
#[cfg(not(any(
    windows,
    all(
        target_os = "linux",
        target_env = "gnu",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )
)))]
pub use self::no_fork as process;
