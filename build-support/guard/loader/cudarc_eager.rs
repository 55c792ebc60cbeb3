//! Detection of cudarc 0.15 to 0.19.4 that loads the driver itself: on first use, it looks up all driver functions of its
//! CUDA, and panics if one is missing. Earlier and later versions only look up functions that are called.

use crate::runtime::binary::contains;
use crate::runtime::facts::Version;

/// Its panic message, and the first new function of each CUDA version, without the initial `E` and `cu`: programs
/// contain this table, which must not be mistaken for that of a cudarc.
const PANIC: &[u8] = b"xpected symbol in library";
const FIRST: [(Version, &str); 14] = [
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
    (Version::new(13, 1, 0), "GraphGetId"),
    (NEWEST, "FuncGetParamCount"),
];
/// The CUDA version whose driver has all functions that such a cudarc looks up.
pub const NEWEST: Version = Version::new(13, 2, 0);
/// A text in libcudart. A program may contain libcudart, which has the same names but does not require the functions.
const RUNTIME: &[u8] = b"udaErrorInvalidValue\0";

/// The functions that a cudarc looks up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EagerLookup {
    /// The CUDA version that introduced the newest function.
    pub cuda: Version,
    /// The functions, the newest first.
    pub functions: Vec<String>,
}

impl EagerLookup {
    /// Finds the functions in the constants of a program; `None` if it contains no such cudarc, or if the names may be
    /// those of libcudart.
    pub fn detect(constants: &[u8]) -> Option<Self> {
        if !contains(constants, b'E', PANIC) || contains(constants, b'c', RUNTIME) {
            return None;
        }
        let (mut newest, mut functions) = (None, Vec::new());
        for (cuda, name) in FIRST.iter().rev() {
            let rest = format!("u{name}\0");
            if contains(constants, b'c', rest.as_bytes()) {
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
