//! A complete library that the loader refuses, with the reason that its message gives.

use std::path::{Path, PathBuf};

/// The library, and the loader's message.
pub struct RefusedLibrary<'a> {
    /// The file that was to be loaded.
    pub path: &'a Path,
    /// The message.
    pub words: &'a str,
    /// The reason.
    pub reason: Refusal,
}

/// The reason why the loader refuses a library.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The library belongs to another cuDNN than the sub-libraries around it.
    OtherCudnn,
    /// A library requires a version of symbols that another one does not define.
    MissingVersion {
        /// The version.
        version: String,
        /// The library that requires the version.
        by: String,
        /// The library that does not define it.
        of: String,
    },
    /// The loader finds a library of another build for this file: its name, and if known its file with a function that it
    /// does not define.
    OtherBuild(PathBuf, String, Option<(PathBuf, String)>),
    /// The loader does not find a library of this name for this file.
    MissingLibrary(PathBuf, String),
    /// The message names no known reason.
    Unknown,
}
