//! The only place that touches the machine.
#![allow(clippy::disallowed_methods)] // the bans of clippy.toml are for everybody else

pub mod cargo;
pub mod files;
pub mod gpus;
pub mod jobs;
pub mod nvcc;
pub mod outputs;
pub mod programs;
pub mod stamp;

#[path = "../../build-support/guard/driver.rs"]
pub mod driver;
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    path = "../../build-support/guard/linux.rs"
)]
#[cfg_attr(
    not(all(target_os = "linux", target_env = "gnu")),
    path = "../../build-support/guard/other.rs"
)]
mod platform;
#[path = "../../build-support/guard/status.rs"]
mod status;
// What the driver's file knows as its neighbours.
use crate::model::{arch, finding, version};

use crate::model::env::Env;
use crate::model::platform::Platform;
use std::path::PathBuf;

/// The machine, as it was when the build began.
#[derive(Clone, Debug)]
pub struct Host {
    /// The environment.
    pub env: Env,
    /// The system that is built for.
    pub platform: Platform,
    /// The directory below which everything with a fixed place is looked for.
    pub root: Option<PathBuf>,
}
