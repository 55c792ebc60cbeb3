//! The report, as text and as JSON, and the variables that configure it.

pub mod env_config;
pub mod json_members;
pub mod output;
#[allow(unsafe_code, reason = "drops a report once, by hand")]
pub mod result;
pub mod text;

pub use env_config::{EnvConfig, Mode, RequireGpu, VariableFault};
pub use result::{Contents, Failure, LoadedCudnn, Report};
