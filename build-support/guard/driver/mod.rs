//! NVIDIA's driver: its library, the GPUs that it shows, and memory on them.

pub mod call;
pub mod container;
#[cfg(feature = "runtime")]
pub mod device_memory;
#[cfg(feature = "runtime")]
pub mod devices;
#[cfg(feature = "runtime")]
pub mod driver_library;
pub mod driver_missing;
pub mod driver_release;
pub mod no_gpu;
pub mod query;
pub mod refused_request;
#[cfg(feature = "runtime")]
pub mod stub;

#[cfg(feature = "runtime")]
pub use devices::{BusyDevice, Devices, RANKS};
pub use driver_missing::{MissingDriver, NIXOS, SYSTEM, WSL_LIBRARIES};
pub use query::{Device, Driver, DriverProblem, FailedCall, MISMATCH};
pub use refused_request::{EACCES, ENOENT, RefusedRequest};
