//! Detection of cudarc 0.15 to 0.19.4 that opens libraries itself: on first use of a library, it looks up all functions of
//! its CUDA, and panics if one is missing. Earlier and later versions only look up functions that are called.

use crate::runtime::binary::contains;
use crate::runtime::facts::Version;

/// Its panic message, and the first new function of each CUDA version, without the initial `E` and `cu`: programs
/// contain this table, which must not be mistaken for that of a cudarc.
const PANIC: &[u8] = b"xpected symbol in library";
const FIRST: &str = "11.6 GraphNodeGetEnabled 11.7 ModuleGetLoadingMode 11.8 LaunchKernelEx 12.0 CtxGetId \
    12.1 CoredumpGetAttribute 12.2 GraphAddNode 12.3 FuncGetName 12.4 CtxFromGreenCtx 12.5 CtxRecordEvent \
    12.8 MemcpyBatchAsync 12.9 LogsCurrent 13.0 GreenCtxGetId 13.1 GraphGetId 13.2 FuncGetParamCount";
/// The CUDA version whose driver has all functions that such a cudarc looks up.
pub const NEWEST: Version = Version::new(13, 2, 0);
/// A text in libcudart. A program may contain libcudart, which has the same names but does not require the functions.
const RUNTIME: &[u8] = b"udaErrorInvalidValue\0";

/// The functions that a cudarc looks up in the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EagerLookup {
    /// The CUDA version that introduced the newest function, if it is known.
    pub cuda: Option<Version>,
    /// The first functions of each CUDA version, the newest first; empty if the names may be those of libcudart.
    pub functions: Vec<String>,
}

impl EagerLookup {
    /// Finds the functions in the constants of a program; `None` if it contains no such cudarc.
    pub fn detect(constants: &[u8]) -> Option<Self> {
        if !contains(constants, b'E', PANIC) {
            return None;
        }
        let (mut cuda, mut functions) = (None, Vec::new());
        let words: Vec<&str> = FIRST.split(' ').collect();
        let is_runtime = contains(constants, b'c', RUNTIME);
        for row in words.rchunks_exact(2).filter(|_| !is_runtime) {
            let name = format!("u{}\0", row[1]);
            if contains(constants, b'c', name.as_bytes()) {
                cuda = cuda.or(Version::parse(row[0]));
                functions.push(format!("cu{}", row[1]));
            }
        }
        Some(Self { cuda, functions })
    }
}
