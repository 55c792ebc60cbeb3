//! The only place that touches the machine.

pub mod cargo;
pub mod nvcc;
pub mod programs;

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
