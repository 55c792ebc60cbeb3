//! The loader's words when it refuses a library. They begin with the file that it did not find.

use crate::runtime::binary::elf::Elf;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::loader::map_failures;
use crate::runtime::system::names::DRIVER;
use std::path::Path;

/// Returns the finding for a complete library that glibc refuses.
pub fn finding(path: &Path, words: &str) -> Finding {
    let named = words.split(": ").next().unwrap_or(words);
    if words.contains(", version libcudnn") || words.contains("version `libcudnn") {
        Finding::error(
            FindingId::PartsMixed,
            format!(
                "`{}` does not belong to the other parts of this cuDNN",
                path.display()
            ),
        )
        .with("loader", words)
        .help("install one cuDNN there, whole")
    } else if let Some((wanted, by)) = version_wanted(words) {
        let summary = format!("`{by}` needs {wanted} of `{named}`, which has no such version");
        let finding = Finding::error(FindingId::CudnnNotLoadable, summary).with("loader", words);
        if wanted.starts_with("GLIBC") || wanted.starts_with("CXXABI") {
            finding.help("run the program on a newer system or in a newer container, or install an older cuDNN")
        } else {
            finding.help(format!(
                "install the release of `{named}` that belongs to it"
            ))
        }
    } else if let Some(library) = skewed_library(words) {
        let summary = format!("`{named}` does not fit the {library} that the loader finds for it");
        Finding::error(FindingId::CudnnNotLoadable, summary)
            .with("loader", words)
            .help(format!(
                "take directories with another {library} out of LD_LIBRARY_PATH, or install both libraries of one CUDA release"
            ))
    } else if Path::new(named) == path || !words.contains("cannot open shared object file") {
        Finding::error(
            FindingId::CudnnNotLoadable,
            format!("`{}` cannot be loaded", path.display()),
        )
        .with("loader", words)
        .help("install that cuDNN again")
    } else {
        Finding::error(
            FindingId::CudnnNotLoadable,
            format!(
                "`{}` needs {}, which the loader does not find",
                path.display(),
                named
            ),
        )
        .with("loader", words)
        .help(format!(
            "install {named}, or put its directory into LD_LIBRARY_PATH"
        ))
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
