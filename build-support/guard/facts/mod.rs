//! Plain values: versions, GPU targets, findings, and the facts of a build.

pub mod allowed;
pub mod built;
#[cfg(feature = "runtime")]
pub mod built_record;
pub mod codec;
pub mod compute_capability;
pub mod fetch_dir;
pub mod finding;
pub mod finding_id;
pub mod json;
pub mod library_name;
#[allow(unsafe_code, reason = "addresses of functions in the program")]
pub mod linked_in;
pub mod majors;
pub mod nearest;
pub mod record;
pub mod sub_libraries;
pub mod tables;
pub mod version;

pub use allowed::Allowed;
pub use built::{Built, BuiltFinding, Loader, Policy, Requirement};
pub use codec::Fields;
pub use compute_capability::{Code, ComputeCapability, Suffix, Target};
pub use finding::{Finding, Severity, Verdict, after_space, escaped, printable, quoted};
pub use finding_id::{FindingId, Section};
pub use json::{Json, is_unprintable};
pub use library_name::{LibraryName, cudnn_file};
pub use linked_in::LinkedIn;
pub use sub_libraries::{CudaLibrary, SubLibrary, TENSOR_IR, UsedFor};
pub use tables::{CONV, CudnnTargets, EVERY_LATER, KnownBad, ONNXRUNTIME, Tables};
pub use version::{SourcedVersion, Version, VersionSource, is_number};
