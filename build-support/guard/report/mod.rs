//! What was checked and what came of it, as text and as JSON, and the variables by which it is asked for.

pub mod contents;
pub mod env_config;
pub mod json_members;
pub mod output;
pub mod result;
pub mod text;
