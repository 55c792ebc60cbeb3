//! Decisions: plain data in, plain data out, tested with literals.

pub mod build_ids;
pub mod check;
pub mod choose;
pub mod compile;
pub mod dialect;
pub mod directive;
pub mod header;
pub mod hijack;
pub mod layout;
#[path = "../../build-support/guard/needs.rs"]
pub mod needs;
pub mod nvcc;
pub mod partial;
pub mod passing;
pub mod pkg_config;
pub mod requirement;
pub mod search;
pub mod select;
pub mod skew;
pub mod smi;
pub mod step;
pub mod version_file;
pub mod wish;
pub mod wording;
