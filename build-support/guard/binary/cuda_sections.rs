//! The CUDA major of a library, from the name of the cuBLAS library that it opens.

#[cfg(any(windows, feature = "build"))]
use crate::runtime::binary::Pe;
use crate::runtime::binary::{Elf, after};

/// A limit above the size of the constants in every sub-library that names cublasLt. `libcudnn_graph` has 24 MB of
/// device code among its constants, and `cudnn_heuristic64_9.dll` has 83 MB of tables.
const MOST_CONSTANTS: u64 = 8 << 20;

impl Elf {
    /// Returns the CUDA major that a sub-library was built for: it opens `libcublasLt.so.N` by that name.
    pub fn cuda_major(&self) -> Option<u32> {
        let (offset, size) = self.section(".rodata").filter(is_small)?;
        cublas_major(&self.bytes(offset, size)?, b'l', b"ibcublasLt.so.")
    }
}

#[cfg(any(windows, feature = "build"))]
impl Pe {
    /// Returns the CUDA major that a sub-library was built for: it opens `cublasLt64_N.dll` by that name.
    pub fn cuda_major(&self) -> Option<u32> {
        let (offset, size) = self.section(".rdata").filter(is_small)?;
        cublas_major(&self.bytes(offset, size)?, b'c', b"ublasLt64_")
    }
}

fn is_small((_, size): &(u64, u64)) -> bool {
    *size <= MOST_CONSTANTS
}

/// Returns the number after the name of cublasLt among the constants of a file. The first letter of the name is
/// separate, as for [`after`].
pub fn cublas_major(constants: &[u8], letter: u8, tail: &[u8]) -> Option<u32> {
    let mut rest = constants;
    loop {
        rest = after(rest, letter, tail)?;
        let end = rest.iter().position(|byte| !byte.is_ascii_digit());
        let digits = rest.get(..end.unwrap_or(rest.len()))?;
        if let Ok(major) = String::from_utf8_lossy(digits).parse() {
            return Some(major);
        }
    }
}
