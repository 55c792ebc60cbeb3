//! A complete library that the loader refuses, with the reason that its message gives.

use std::borrow::Cow;
use std::path::PathBuf;

/// The end of glibc's message about a library that requires an executable stack, since 2.41.
pub const EXECUTABLE_STACK: &str = "cannot enable executable stack as shared object requires";

/// The loader's message about a library that it refuses.
pub struct RefusedLibrary<'a> {
    pub words: Cow<'a, str>,
    pub reason: Refusal,
}

/// The reason why the loader refuses a library.
pub enum Refusal {
    /// This library belongs to another cuDNN than the sub-libraries around it.
    OtherCudnn(PathBuf),
    /// A library requires a version of symbols that another one does not define.
    MissingVersion {
        version: String,
        /// The library that requires the version.
        by: String,
        /// The library that does not define it.
        of: String,
    },
    /// The loader finds a library of another build for this file: the library's name, and if known, its file and a
    /// function that it does not define.
    OtherBuild(PathBuf, String, Option<(PathBuf, String)>),
    /// The loader does not find a library of this name for this file.
    MissingLibrary(PathBuf, String),
    ExecutableStack(String),
    /// The limit on open files is reached.
    TooManyFiles,
    /// This file is on this file system, from which nothing can be run.
    NoExec(String, PathBuf),
    /// This file is larger than the memory limit allows: the limit in MiB, and the command that sets it. There may be
    /// enough memory another time.
    MemoryLimit(String, u64, &'static str),
    /// The system does not map this file, and no limit is known.
    Unmapped(String),
    /// The message about this file names no known reason.
    Unknown(PathBuf),
}
