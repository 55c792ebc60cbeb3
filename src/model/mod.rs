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

pub use candidate::{Candidate, Copies, Cudnn, Found, Toolkit, Unresolved};
pub use chosen_by::ChosenBy;
pub use environment::{Environment, Names, Origin, Variable};
pub use found_via::{FoundVia, Named};
pub use gencode::{Gencode, machine_code};
pub use guard_state::GuardState;
pub use invocation::Invocation;
pub use kind::Kind;
pub use library::Library;
pub use obstacle::Obstacle;
pub use owner::{Installer, Owner};
pub use platform::{Os, Platform};
pub use rejection::Rejection;
pub use target_list::TargetList;
pub use text::pattern::{Pattern, pattern};
pub use text::{joined, newest_first, parse_numbers};
