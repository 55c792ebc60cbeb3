//! Plain data: requirements, search results, and why results are rejected. Nothing here accesses the machine.

pub mod candidate;
pub mod chosen_by;
pub mod compiler_choice;
pub mod environment;
pub mod found_via;
pub mod invocation;
pub mod library;
#[cfg(feature = "cli")]
pub mod linkage;
pub mod obstacle;
pub mod owner;
pub mod platform;
pub mod rejection;
pub mod target_list;
pub mod text;

pub use candidate::{Candidate, Cudnn, Found, Kind, Toolkit, Unresolved};
pub use chosen_by::ChosenBy;
pub use compiler_choice::CompilerChoice;
pub use environment::{Environment, Names, Origin, Variable};
pub use found_via::{FoundVia, Named};
pub use invocation::Invocation;
pub use library::Library;
#[cfg(feature = "cli")]
pub use linkage::{Linkage, LoadPhase, Missing, Object};
pub use obstacle::Obstacle;
pub use owner::{Installer, Owner};
pub use platform::{Os, Platform};
pub use rejection::Rejection;
pub use target_list::{Gencode, TargetList, machine_code};
pub use text::pattern::{Pattern, pattern};
pub use text::{joined, newest_first, parse_numbers, short_version};
