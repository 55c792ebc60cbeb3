//! Plain data: what is asked, what is found, what is thought of it. Nothing here touches the machine.

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
pub mod chosen_by;
pub mod environment;
pub mod file_defect;
pub mod finding_id;
pub mod found_via;
pub mod gencode;
pub mod gpu;
pub mod invocation;
#[cfg(feature = "cli")]
pub mod linkage;
pub mod owner;
pub mod platform;
pub mod record;
pub mod rejection;
pub mod target_list;
pub mod version_header;
pub mod version_source;

// Rules that the build and the running program share.
#[cfg(feature = "cli")]
#[allow(dead_code)] // the program asks it more than the build does
#[path = "../../build-support/guard/eager.rs"]
pub mod eager;
#[allow(dead_code)] // the program asks it more than the build does
#[path = "../../build-support/guard/judge.rs"]
pub mod judge;
#[cfg(feature = "cli")]
#[path = "../../build-support/guard/names.rs"]
pub mod names;
#[allow(dead_code)] // the program asks it more than the build does
#[path = "../../build-support/guard/needs.rs"]
pub mod needs;
#[path = "../../build-support/guard/served.rs"]
pub mod served;
