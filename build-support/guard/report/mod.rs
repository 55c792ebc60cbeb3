//! What was checked and what came of it, as text and as JSON, and the variables by which it is asked for.

#[cfg(feature = "runtime")]
pub mod env_config;
#[cfg(feature = "runtime")]
pub mod json_members;
#[cfg(feature = "runtime")]
pub mod output;
#[cfg(feature = "runtime")]
pub mod result;
#[cfg(feature = "runtime")]
pub mod text;
