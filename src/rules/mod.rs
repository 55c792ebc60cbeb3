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
#[cfg(feature = "cli")]
#[allow(dead_code)] // the program asks it more than the build does
#[path = "../../build-support/guard/eager.rs"]
pub mod eager;
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
#[allow(dead_code)] // the program asks it more than the build does
#[path = "../../build-support/guard/judge.rs"]
pub mod judge;
pub mod layout;
pub mod lister;
#[cfg(feature = "cli")]
pub mod loader;
#[cfg(feature = "cli")]
#[path = "../../build-support/guard/names.rs"]
pub mod names;
#[allow(dead_code)] // the program asks it more than the build does
#[path = "../../build-support/guard/needs.rs"]
pub mod needs;
pub mod nvcc;
pub mod nvcc_table;
#[cfg(feature = "cli")]
pub mod outlook;
pub mod partial;
pub mod passing;
pub mod record;
pub mod requirement;
pub mod search;
pub mod select;
#[path = "../../build-support/guard/served.rs"]
pub mod served;
pub mod skew;
pub mod smi;
pub mod step;
pub mod version_file;
#[cfg(feature = "cli")]
pub mod way;
pub mod wish;
pub mod wording;

// What the shared files know as their neighbours.
use crate::model::{arch, facts, finding, tables, version};
