//! Plain data: requirements, search results, and why results are rejected. Nothing here accesses the machine.

pub mod candidate;
pub mod chosen_by;
pub mod environment;
pub mod found_via;
pub mod gencode;
pub mod guard_state;
pub mod invocation;
pub mod kind;
pub mod library;
#[cfg(feature = "cli")]
pub mod linkage;
pub mod obstacle;
pub mod owner;
pub mod platform;
pub mod rejection;
pub mod target_list;
pub mod text;
