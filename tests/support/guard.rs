//! The guard's modules, side by side as they stand in a program.
#![allow(dead_code, reason = "each test takes what it needs")]

#[path = "../../build-support/guard/arch.rs"]
pub mod arch;
#[path = "../../build-support/guard/convolution.rs"]
pub mod convolution;
#[path = "../../build-support/guard/cuda_status.rs"]
pub mod cuda_status;
#[path = "../../build-support/guard/cudnn.rs"]
pub mod cudnn;
#[path = "../../build-support/guard/cudnn_status.rs"]
pub mod cudnn_status;
#[path = "../../build-support/guard/device.rs"]
pub mod device;
#[path = "../../build-support/guard/driver.rs"]
pub mod driver;
#[path = "../../build-support/guard/finding.rs"]
pub mod finding;
#[path = "../../build-support/guard/json.rs"]
pub mod json;
#[path = "../../build-support/guard/no_gpu.rs"]
pub mod no_gpu;
#[path = "../../build-support/guard/linux.rs"]
pub mod platform;
#[path = "../../build-support/guard/reference.rs"]
pub mod reference;
#[path = "../../build-support/guard/trouble.rs"]
pub mod trouble;
#[path = "../../build-support/guard/version.rs"]
pub mod version;
