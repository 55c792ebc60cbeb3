//! The runtime.

#[doc(hidden)]
pub mod binary;
#[doc(hidden)]
pub mod child;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod convolution;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod cudnn;
#[doc(hidden)]
pub mod driver;
#[doc(hidden)]
pub mod facts;
#[doc(hidden)]
pub mod judge;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod loader;
#[doc(hidden)]
pub mod parts;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod system;

#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod check;
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod startup;

#[cfg(feature = "runtime")]
pub use self::check::check;
#[cfg(feature = "runtime")]
pub use self::check::check_thoroughly;
#[cfg(feature = "runtime")]
pub use self::check::check_version;
pub use self::facts::built::{Built, BuiltFinding, Loader, Policy, Requirement};
pub use self::facts::finding::{Finding, Severity, Verdict};
pub use self::facts::finding_id::FindingId;
pub use self::facts::linked_in::LinkedIn;
#[cfg(feature = "runtime")]
pub use self::report::result::Failure;
#[cfg(feature = "runtime")]
pub use self::report::result::Report;
#[cfg(feature = "runtime")]
pub use self::startup::startup;
