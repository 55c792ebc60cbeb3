//! The loader's words when it refuses a library. They begin with the file that it did not find.

use crate::runtime::binary::elf::Elf;
use crate::runtime::loader::map_failures;
use crate::runtime::loader::refused_library::{Refusal, RefusedLibrary};
use crate::runtime::system::names::DRIVER;
use std::path::Path;

/// Returns the fault of a complete library that glibc refuses.
pub fn refused<'a>(path: &Path, words: &'a str) -> RefusedLibrary<'a> {
    let named = words.split(": ").next().unwrap_or(words);
    let file = Path::new(named);
    let reason = if words.contains(", version libcudnn") || words.contains("version `libcudnn") {
        Refusal::OtherCudnn(path.into())
    } else if let Some((version, by)) = version_wanted(words) {
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
    RefusedLibrary {
        words: words.into(),
        reason,
    }
}

/// Returns `true` if the driver's library is what is missing. An image may contain an empty file in its place.
pub fn wants_driver(_path: &Path, words: &str) -> bool {
    let named = words.split(": ").next().unwrap_or_default();
    let is_absent = || Elf::open(Path::new(named)).is_err();
    named == DRIVER || named.ends_with("/libcuda.so.1") && is_absent()
}

/// Returns the version and the file of glibc's "version `GLIBC_2.27' not found (required by FILE)".
fn version_wanted(words: &str) -> Option<(&str, &str)> {
    let (_, rest) = words.split_once(": version `")?;
    let (wanted, rest) = rest.split_once("' not found (required by ")?;
    Some((wanted, rest.strip_suffix(')')?))
}

/// The library that lacks a function which the one that was linked to had: NVIDIA gives the functions of a library its
/// name as their version. Up to 2.29 glibc says "symbol S version V not defined in file F with link time reference",
/// since then "undefined symbol: S, version V".
fn skewed_library(words: &str) -> Option<&str> {
    if let Some((_, rest)) = words.split_once(" not defined in file ") {
        return Some(rest.split_once(" with link time reference")?.0);
    }
    let (_, rest) = words.split_once(": undefined symbol: ")?;
    let (_, version) = rest.split_once(", version ")?;
    Some(version).filter(|version| version.contains(".so."))
}

/// glibc's last words, "PROGRAM: symbol lookup error: FILE: undefined symbol: S": what follows the program's name.
pub fn missed_function<'a>(said: &'a str) -> Option<&'a str> {
    let words = |line: &'a str| {
        line.split_once(": symbol lookup error: ")
            .map(|(_, words)| words)
    };
    said.lines().rev().find_map(words)
}

/// Returns `true` if glibc ended the process because the system does not let one thread wait for another.
pub fn no_waiting(said: &str) -> bool {
    said.contains("The futex facility returned an unexpected error code")
}

/// Returns `true` if Rust's allocator, or C++'s under a limit, found no memory and ended the process.
pub fn no_memory(said: &str) -> bool {
    let begins = |line: &str| line.starts_with("memory allocation of ");
    let limited = || said.contains("std::bad_alloc") && map_failures::is_limited();
    said.lines().any(begins) || limited()
}

/// Returns `true` if a library found no memory.
pub fn no_memory_for_library(said: &str) -> bool {
    said.contains("std::bad_alloc")
}

/// Returns `true` if no thread could be started.
pub fn no_thread(said: &str) -> bool {
    said.contains("Resource temporarily unavailable") || said.contains("pthread_create failed")
}
