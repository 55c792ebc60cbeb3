//! The child process in which the driver and cuDNN are tried: what would end it does not end the program.

#[cfg(feature = "runtime")]
pub mod child_verdict;
#[cfg(feature = "runtime")]
pub mod exit_status;
#[cfg(feature = "runtime")]
pub mod in_process;
#[cfg(feature = "runtime")]
pub mod pipe_sink;
#[cfg(feature = "runtime")]
pub mod process_lock;
#[cfg(feature = "runtime")]
pub mod protocol;
#[cfg(feature = "runtime")]
pub mod work;

#[cfg(feature = "runtime")]
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub mod fork;
#[cfg(feature = "runtime")]
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub use self::fork as process;

#[cfg(feature = "runtime")]
#[cfg(not(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub mod no_fork;
#[cfg(feature = "runtime")]
#[cfg(not(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub use self::no_fork as process;
