//! Decisions: plain data in, plain data out, tested with literals.

pub mod archives;
pub mod build_ids;
pub mod check;
pub mod choose;
pub mod closure;
pub mod compile;
pub mod cudarc;
pub mod dialect;
pub mod directive;
pub mod header;
pub mod hijack;
pub mod layout;
#[path = "../../build-support/guard/needs.rs"]
pub mod needs;
pub mod newest;
pub mod nvcc;
pub mod partial;
pub mod passing;
pub mod requirement;
pub mod search;
pub mod select;
pub mod skew;
pub mod smi;
pub mod step;
pub mod wish;
pub mod wording;
