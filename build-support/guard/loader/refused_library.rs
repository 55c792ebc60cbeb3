//! A complete library that the loader refuses, with the reason that its message gives, and the reasons why the loader
//! cannot map it into this process: not enough memory, too many open files, a file system from which nothing may be
//! run, or an executable stack. glibc prints the same message for the first and the third.

use crate::runtime::system::{by_system, proc};
use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The end of glibc's message about a library that requires an executable stack, since 2.41.
pub const EXECUTABLE_STACK: &str = "cannot enable executable stack as shared object requires";
/// glibc's messages, after the name of the file; on Windows `ERROR_COMMITMENT_LIMIT`, whose message names the page
/// file, and `ERROR_NOT_ENOUGH_MEMORY`.
const WORDS: &[&str] = by_system!(
    &[
        "failed to map segment from shared object",
        "cannot map zero-fill pages",
        "Cannot allocate memory",
        "out of memory",
    ],
    &["(os error 1455)", "(os error 8)"]
);
/// The ends of glibc's messages about a file that it could not open or read, before the system's message.
const READING: [&str; 2] = ["open shared object file: ", "read file data: "];
/// EPERM, ENOENT, EACCES, EISDIR and ELOOP, which show what is wrong with a file.
const CERTAIN: [i32; 5] = [1, 2, 13, 21, 40];
/// The system's message when a process, or all of them together, cannot open more files, and its error numbers.
pub const TOO_MANY_FILES: &str = "Too many open files";
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
/// The number of files that are open at the same time while sub-libraries are read.
const FILES: usize = 3;
/// Limits on memory, as /proc names them and as the shell sets them.
const LIMITS: [(&str, &str); 2] = [
    ("Max address space", "ulimit -v"),
    ("Max data size", "ulimit -d"),
];

/// The loader's message about a library that it refuses.
pub struct RefusedLibrary<'a> {
    pub words: Cow<'a, str>,
    pub reason: Refusal,
}

impl<'a> RefusedLibrary<'a> {
    pub fn new(words: impl Into<Cow<'a, str>>, reason: Refusal) -> Self {
        let words = words.into();
        Self { words, reason }
    }
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

/// Returns the fault, if the loader's message reports one of these. The message contains the name by which the file was
/// opened; `locate` returns its path.
pub fn find<'a>(
    message: &'a str,
    locate: &dyn Fn(&str) -> Option<PathBuf>,
) -> Option<RefusedLibrary<'a>> {
    let failure = |reason| RefusedLibrary::new(message, reason);
    if message.contains(TOO_MANY_FILES) {
        return Some(failure(Refusal::TooManyFiles));
    }
    let is_stack = message.contains(EXECUTABLE_STACK);
    if !is_stack && !WORDS.iter().any(|known| message.contains(known)) {
        return None;
    }
    let named = message.split(": ").next()?;
    let path = Some(PathBuf::from(named)).filter(|path| path.is_absolute());
    let path = path.or_else(|| locate(named));
    let file = match &path {
        Some(path) => path.display().to_string(),
        None => named.to_string(),
    };
    if is_stack {
        return Some(failure(Refusal::ExecutableStack(file)));
    }
    let mounts = proc::text("self/mountinfo").unwrap_or_default();
    let real = path.and_then(|path| path.canonicalize().ok());
    let mounted = real.and_then(|real| noexec_mount(&mounts, &real));
    let limits = proc::text("self/limits").unwrap_or_default();
    Some(failure(match (mounted, limit(&limits)) {
        (Some(mounted), _) => Refusal::NoExec(file, mounted),
        (None, Some((mebibytes, by))) => Refusal::MemoryLimit(file, mebibytes, by),
        (None, None) => Refusal::Unmapped(file),
    }))
}

/// Returns the reason why the loader could not read a file that may be valid.
pub fn unread(message: &str) -> Option<&str> {
    let (_, reason) = READING.iter().find_map(|words| message.split_once(words))?;
    let text = |number| std::io::Error::from_raw_os_error(number).to_string();
    let is_it = |number| text(number).starts_with(reason);
    (!CERTAIN.into_iter().any(is_it)).then_some(reason)
}

/// Returns the fault if this process cannot open enough files to read a cuDNN.
pub fn no_files_left() -> Option<RefusedLibrary<'static>> {
    let mut open = Vec::new();
    while open.len() < FILES {
        match File::open("/") {
            Ok(root) => open.push(root),
            Err(error) => {
                let is_it = matches!(error.raw_os_error(), Some(ENFILE | EMFILE));
                let fault = || RefusedLibrary::new(error.to_string(), Refusal::TooManyFiles);
                return is_it.then(fault);
            }
        }
    }
    None
}

/// Returns `true` if there is a limit on this process's memory.
pub fn is_limited() -> bool {
    limit(&proc::text("self/limits").unwrap_or_default()).is_some()
}

/// Returns the lowest limit on this process's memory, in MiB, and the command that sets it.
pub fn limit(limits: &str) -> Option<(u64, &'static str)> {
    let limit = |&(name, by): &(&str, &'static str)| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        let bytes: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some((bytes >> 20, by))
    };
    LIMITS.iter().filter_map(limit).min()
}

/// Returns the mount point of the file system that this file is on, if nothing may be run from it.
pub fn noexec_mount(mounts: &str, file: &Path) -> Option<PathBuf> {
    let mut on: Option<(PathBuf, bool)> = None;
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(4);
        let (Some(point), Some(options)) = (fields.next(), fields.next()) else {
            continue;
        };
        let point = PathBuf::from(point.replace("\\040", " "));
        let known = on.as_ref();
        let is_deeper = known.is_none_or(|(other, _)| point.starts_with(other));
        if is_deeper && file.starts_with(&point) {
            let noexec = options.split(',').any(|option| option == "noexec");
            on = Some((point, noexec));
        }
    }
    on.filter(|(_, noexec)| *noexec).map(|(point, _)| point)
}
