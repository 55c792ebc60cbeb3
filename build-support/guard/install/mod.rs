//! An installed cuDNN: its sub-libraries, the version of each and its source, and the package that contains them.

#[cfg(feature = "runtime")]
pub mod dlopen_dependencies;
pub mod file_reader;
pub mod installed;
#[cfg(feature = "runtime")]
#[allow(unsafe_code, reason = "queries the version of a cuDNN without a file")]
pub mod main_library;
#[cfg(feature = "runtime")]
pub mod missing_dlopen;
pub mod mixed_sub_libraries;
#[cfg(feature = "runtime")]
pub mod onnxruntime;
pub mod package_owner;
pub mod package_record;
#[cfg(feature = "runtime")]
pub mod refusal;
pub mod sub_library_file;
#[cfg(feature = "runtime")]
pub mod sub_library_files;
#[cfg(feature = "runtime")]
pub mod sub_library_lookup;
pub mod unusable_file;

pub use file_reader::{FileContents, FileReader, contained_versions};
pub use installed::{Expected, Installed, MissingSubLibraries, full_name, is_absent};
#[cfg(feature = "runtime")]
pub use main_library::{MainLibrary, NotLoadedYet, Remedy};
pub use sub_library_file::SubLibraryFile;
pub use unusable_file::UnusableFile;
