//! Plain data: what is asked, what is found, what is thought of it. Nothing here touches the machine.

#[path = "../../build-support/guard/allowed.rs"]
pub mod allowed;
#[path = "../../build-support/guard/arch.rs"]
pub mod arch;
#[allow(dead_code)] // its constants are written, not made here
#[path = "../../build-support/guard/facts.rs"]
pub mod facts;
#[path = "../../build-support/guard/finding.rs"]
pub mod finding;
#[path = "../../build-support/guard/json.rs"]
pub mod json;
#[allow(dead_code)] // its constants are written, not made here
#[path = "../../build-support/guard/tables.rs"]
pub mod tables;
#[path = "../../build-support/guard/version.rs"]
pub mod version;
#[cfg(feature = "cli")]
#[allow(dead_code)] // the program names more of them
#[path = "../../build-support/guard/via.rs"]
pub mod via;

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
