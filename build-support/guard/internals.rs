//! The modules of the runtime, which only this crate and its tests use.
//!
//! # Modules
//!
//! `facts` the facts of the build, and their record · `judge` the rules · `system` the operating system · `binary` files
//! read as bytes · `loader` the search for libraries · `install` the selected cuDNN and its sub-libraries · `driver`,
//! `cudnn` NVIDIA's functions · `convolution` the tests · `child` the process that runs them · `report` the results ·
//! `check` the steps · `messages` the messages. A module uses only modules before it.

#[path = "binary/mod.rs"]
pub mod binary;
#[cfg(feature = "runtime")]
#[path = "check/mod.rs"]
pub mod check;
#[cfg(feature = "runtime")]
#[path = "child/mod.rs"]
#[allow(unsafe_code, reason = "fork, signals, and processes of Windows")]
pub mod child;
#[cfg(feature = "runtime")]
#[path = "convolution/mod.rs"]
#[allow(unsafe_code, reason = "passes memory of the GPU to cuDNN")]
pub mod convolution;
#[cfg(feature = "runtime")]
#[path = "cudnn/mod.rs"]
#[allow(unsafe_code, reason = "calls cuDNN")]
pub mod cudnn;
#[path = "driver/mod.rs"]
#[allow(unsafe_code, reason = "calls the driver")]
pub mod driver;
#[path = "facts/mod.rs"]
pub mod facts;
#[path = "install/mod.rs"]
pub mod install;
#[path = "judge/mod.rs"]
pub mod judge;
#[cfg(all(feature = "runtime", any(target_os = "linux", windows)))]
#[path = "lazy.rs"]
#[allow(unsafe_code, reason = "is called by functions in assembly")]
pub mod lazy;
#[path = "loader/mod.rs"]
pub mod loader;
#[path = "messages/mod.rs"]
pub mod messages;
#[cfg(feature = "runtime")]
#[path = "report/mod.rs"]
pub mod report;
#[cfg(feature = "runtime")]
#[path = "startup.rs"]
pub mod startup;
#[path = "system/mod.rs"]
#[allow(unsafe_code, reason = "calls the loader and the C library")]
pub mod system;
