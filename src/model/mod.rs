//! Plain data: what is asked, what is found, what is thought of it. Nothing here touches the machine.

pub use crate::runtime::facts::{
    built as facts, compute_capability as arch, finding, json, tables, version,
};
#[cfg(feature = "cli")]
pub use crate::runtime::loader::load_origin as via;

pub mod candidate;
pub mod env;
pub mod flaw;
pub mod gencode;
pub mod gpu;
pub mod id;
pub mod invocation;
#[cfg(feature = "cli")]
pub mod linkage;
pub mod owner;
pub mod platform;
pub mod target_list;
