//! The CUDA major of a library, from the name of the cuBLAS library that it opens.

use crate::runtime::binary::elf::Elf;
use crate::runtime::binary::pe::Pe;
use std::io::BufRead;

/// A limit above the size of the constants in every sub-library that names cublasLt. `libcudnn_graph` has 24 MB of
/// device code among its constants, and `cudnn_heuristic64_9.dll` has 83 MB of tables.
const MOST_CONSTANTS: u64 = 8 << 20;

/// The number of bytes that are searched at a time. Linkers put the strings before or after the tables of numbers.
const BLOCK: usize = 64 << 10;

/// A limit above the length of the name of a cublasLt.
const NAME: usize = 64;

impl Elf {
    /// Returns the CUDA major that a sub-library was built for: it opens `libcublasLt.so.N` by that name.
    pub fn cuda_major(&self) -> Option<u32> {
        let (offset, size) = self.section(".rodata").filter(is_small)?;
        cublas_major(&self.bytes(offset, size)?, b"libcublasL", b"t.so.")
    }
}

impl Pe {
    /// Returns the CUDA major that a sub-library was built for: it opens `cublasLt64_N.dll` by that name.
    pub fn cuda_major(&self) -> Option<u32> {
        let (offset, size) = self.section(".rdata").filter(is_small)?;
        cublas_major(&self.bytes(offset, size)?, b"cublasL", b"t64_")
    }
}

fn is_small((_, size): &(u64, u64)) -> bool {
    *size <= MOST_CONSTANTS
}

/// Returns the number after the name of cublasLt among the constants of a file. The name is given in two halves,
/// `libcublasL` and `t.so.`.
pub fn cublas_major(constants: &[u8], before: &[u8], behind: &[u8]) -> Option<u32> {
    let block = |start: usize| {
        let end = constants.len().min(start + BLOCK + NAME);
        major_in(constants.get(start..end)?, before, behind)
    };
    let first = block(0);
    let mut start = constants.len();
    while first.is_none() && start > BLOCK {
        start -= BLOCK;
        if let Some(major) = block(start) {
            return Some(major);
        }
    }
    first
}

fn major_in(constants: &[u8], before: &[u8], behind: &[u8]) -> Option<u32> {
    let mut rest = constants;
    // `skip_until` is optimized even in debug builds, unlike a loop over bytes.
    while rest.skip_until(b'L').is_ok_and(|skipped| skipped > 0) && !rest.is_empty() {
        // Most of the letters are numbers in tables, which a comparison of one byte rules out.
        if rest.first() != behind.first() {
            continue;
        }
        let passed = constants.get(..constants.len() - rest.len())?;
        if let (true, Some(tail)) = (passed.ends_with(before), rest.strip_prefix(behind)) {
            let end = tail.iter().position(|byte| !byte.is_ascii_digit());
            let digits = tail.get(..end.unwrap_or(tail.len()))?;
            if let Ok(major) = String::from_utf8_lossy(digits).parse() {
                return Some(major);
            }
        }
    }
    None
}
