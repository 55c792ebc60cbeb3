//! Plain data: what is asked, what is found, what is thought of it. Nothing here touches the machine.

pub use crate::runtime::facts::{
    allowed, built as facts, compute_capability as arch, finding, json, tables, version,
};
#[cfg(feature = "cli")]
pub use crate::runtime::loader::load_origin as via;

pub mod candidate;
pub mod chosen_by;
pub mod environment;
pub mod finding_id;
pub mod found_via;
pub mod gencode;
pub mod gpu;
pub mod invocation;
pub mod library_name;
#[cfg(feature = "cli")]
pub mod linkage;
pub mod owner;
pub mod pattern;
pub mod platform;
pub mod record;
pub mod rejection;
pub mod target_list;
pub mod target_name;
pub mod version_header;
pub mod version_source;

// Rules that the build and the running program share.
pub use crate::runtime::judge::{gpu_support as served, rules as judge};
#[cfg(feature = "cli")]
pub use crate::runtime::loader::{cudarc_eager as eager, library_names as names};
pub use crate::runtime::parts::required_parts as needs;
