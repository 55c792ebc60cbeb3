//! Decisions: plain data in, plain data out, tested with literals.

pub mod archives;
pub mod build_ids;
#[cfg(feature = "cli")]
pub mod calls;
pub mod check;
pub mod choose;
pub mod closure;
pub mod companions;
pub mod compat;
pub mod compile;
pub mod compiler;
pub mod complaint;
pub mod cudarc;
pub mod device_code;
pub mod dialect;
pub mod directive;
pub mod fatbin;
pub mod fit;
pub mod gpu_names;
#[cfg(feature = "cli")]
pub mod guarded;
pub mod header;
pub mod hijack;
pub mod host_compiler;
pub mod host_headers;
pub mod host_limits;
pub mod image;
pub mod image_driver;
pub mod layout;
pub mod lister;
#[cfg(feature = "cli")]
pub mod loader;
pub mod nvcc;
pub mod nvcc_table;
#[cfg(feature = "cli")]
pub mod outlook;
pub mod partial;
pub mod passing;
pub mod pkg_config;
pub mod record;
pub mod requirement;
pub mod search;
pub mod select;
pub mod skew;
pub mod smi;
pub mod step;
pub mod version_file;
#[cfg(feature = "cli")]
pub mod way;
pub mod wish;
pub mod wording;

pub use crate::runtime::judge::{gpu_support as served, rules as judge};
#[cfg(feature = "cli")]
pub use crate::runtime::loader::{cudarc_eager as eager, library_names as names};
pub use crate::runtime::parts::required_parts as needs;
