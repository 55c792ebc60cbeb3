//! A cudarc from 0.15 to 0.18 that loads the driver itself: it looks all functions of its CUDA up when the driver is
//! first used, and panics for want of one. Earlier and later ones do without what is not called.

use crate::runtime::facts::version::Version;
use std::io::BufRead;

/// What it panics with, and the first function that came with each release of CUDA, without the `E` and the `cu` that
/// they begin with: this table is in programs, and must not be taken for a cudarc's.
const PANIC: &[u8] = b"xpected symbol in library";
const FIRST: [(Version, &str); 13] = [
    (Version::new(11, 6, 0), "GraphNodeGetEnabled"),
    (Version::new(11, 7, 0), "ModuleGetLoadingMode"),
    (Version::new(11, 8, 0), "LaunchKernelEx"),
    (Version::new(12, 0, 0), "CtxGetId"),
    (Version::new(12, 1, 0), "CoredumpGetAttribute"),
    (Version::new(12, 2, 0), "GraphAddNode"),
    (Version::new(12, 3, 0), "FuncGetName"),
    (Version::new(12, 4, 0), "CtxFromGreenCtx"),
    (Version::new(12, 5, 0), "CtxRecordEvent"),
    (Version::new(12, 8, 0), "MemcpyBatchAsync"),
    (Version::new(12, 9, 0), "LogsCurrent"),
    (Version::new(13, 0, 0), "GreenCtxGetId"),
    (NEWEST, "GraphGetId"),
];
/// A driver for this CUDA has all that such a cudarc looks up.
pub const NEWEST: Version = Version::new(13, 1, 0);
/// The libcudart that a program may hold has the same names, and does without those that are not there.
const RUNTIME: &[u8] = b"udaErrorInvalidValue\0";

/// The functions that it looks up, the newest first, and the release of CUDA which that one came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EagerLookup {
    /// The release.
    pub cuda: Version,
    /// The functions.
    pub functions: Vec<String>,
}

impl EagerLookup {
    /// Finds them in the constants of a program; none if it contains no such cudarc, or names that may be another's.
    pub fn detect(constants: &[u8]) -> Option<Self> {
        if !has_framed_name(constants, b'E', PANIC) || has_framed_name(constants, b'c', RUNTIME) {
            return None;
        }
        let (mut newest, mut functions) = (None, Vec::new());
        for (cuda, name) in FIRST.iter().rev() {
            let rest = format!("u{name}\0");
            if has_framed_name(constants, b'c', rest.as_bytes()) {
                newest = newest.or(Some(*cuda));
                functions.push(format!("cu{name}"));
            }
        }
        Some(Self {
            cuda: newest?,
            functions,
        })
    }
}

/// Returns `true` if this follows such a letter.
fn has_framed_name(text: &[u8], letter: u8, wanted: &[u8]) -> bool {
    let mut rest = text;
    // `skip_until` comes compiled with optimisation; a loop over bytes in a program that is not does not.
    while rest.skip_until(letter).is_ok_and(|skipped| skipped > 0) {
        if rest.starts_with(wanted) {
            return true;
        }
    }
    false
}
