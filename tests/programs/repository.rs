//! The repository's own documents and tables.

#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod documents;
#[cfg(unix)]
pub mod messages;
#[cfg(unix)]
pub mod module_order;
pub mod report_schema;
#[cfg(unix)]
pub mod sources;
