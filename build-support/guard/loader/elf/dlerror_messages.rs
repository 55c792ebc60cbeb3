//! The loader's messages about a library that it refuses. They begin with the file that it did not find.

use crate::runtime::binary::Elf;
use crate::runtime::loader::{Refusal, RefusedLibrary, refused_library};
use crate::runtime::system::DRIVER;
use std::path::Path;

/// Returns the fault of a complete library that glibc refuses.
pub fn refused<'a>(path: &Path, words: &'a str) -> RefusedLibrary<'a> {
    let named = words.split(": ").next().unwrap_or(words);
    let file = Path::new(named);
    let reason = if words.contains(", version libcudnn") || words.contains("version `libcudnn") {
        Refusal::OtherCudnn(path.into())
    } else if let Some((version, by)) = required_version(words) {
        Refusal::MissingVersion {
            version: version.to_string(),
            by: by.to_string(),
            of: named.to_string(),
        }
    } else if let Some(name) = skewed_library(words) {
        Refusal::OtherBuild(file.into(), name.to_string(), None)
    } else if file == path || !words.contains("cannot open shared object file") {
        Refusal::Unknown(path.into())
    } else {
        Refusal::MissingLibrary(path.into(), named.to_string())
    };
    RefusedLibrary::new(words, reason)
}

/// Returns `true` if the driver's library is missing. An image may contain an empty file in its place.
pub fn requires_driver(_path: &Path, words: &str) -> bool {
    let named = words.split(": ").next().unwrap_or_default();
    let is_absent = || Elf::open(Path::new(named)).is_err();
    named == DRIVER || named.ends_with("/libcuda.so.1") && is_absent()
}

/// Returns the version and the file of glibc's "version `GLIBC_2.27' not found (required by FILE)".
fn required_version(words: &str) -> Option<(&str, &str)> {
    let (_, rest) = words.split_once(": version `")?;
    let (version, rest) = rest.split_once("' not found (required by ")?;
    Some((version, rest.strip_suffix(')')?))
}

/// Returns the library that does not define a function of the library that was linked: the version of NVIDIA's
/// functions is the name of their library. glibc up to 2.29 prints "symbol S version V not defined in file F with link
/// time reference", later versions "undefined symbol: S, version V".
fn skewed_library(words: &str) -> Option<&str> {
    if let Some((_, rest)) = words.split_once(" not defined in file ") {
        return Some(rest.split_once(" with link time reference")?.0);
    }
    let (_, rest) = words.split_once(": undefined symbol: ")?;
    let (_, version) = rest.split_once(", version ")?;
    Some(version).filter(|version| version.contains(".so."))
}

/// Returns the end of glibc's last message, "PROGRAM: symbol lookup error: FILE: undefined symbol: S", after the
/// program.
pub fn missed_function<'a>(output: &'a str) -> Option<&'a str> {
    let message = |line: &'a str| Some(line.split_once(": symbol lookup error: ")?.1);
    output.lines().rev().find_map(message)
}

/// Returns `true` if glibc ended the process because the system does not let one thread wait for another.
pub fn no_waiting(output: &str) -> bool {
    output.contains("The futex facility returned an unexpected error code")
}

/// Returns `true` if Rust's allocator, or C++'s under a limit, found no memory and ended the process.
pub fn no_memory(output: &str) -> bool {
    let begins = |line: &str| line.starts_with("memory allocation of ");
    let limited = || no_memory_for_library(output) && refused_library::is_limited();
    output.lines().any(begins) || limited()
}

pub fn no_memory_for_library(output: &str) -> bool {
    output.contains("std::bad_alloc")
}

pub fn no_thread(output: &str) -> bool {
    output.contains("Resource temporarily unavailable") || output.contains("pthread_create failed")
}
