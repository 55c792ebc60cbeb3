//! The report, as text and as JSON, and the variables that configure it.

pub mod contents;
pub mod env_config;
pub mod json_members;
pub mod output;
pub mod result;
pub mod text;
