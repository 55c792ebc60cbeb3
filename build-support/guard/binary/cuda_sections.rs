//! The CUDA major of a library, from the name of the cuBLAS library that it opens.

#[cfg(any(windows, feature = "build"))]
use crate::runtime::binary::Pe;
use crate::runtime::binary::{BoundedFile, Elf, after};

/// A limit above the size of the constants in every sub-library that names cublasLt. `libcudnn_graph` has 24 MB of
/// device code among its constants, and `cudnn_heuristic64_9.dll` has 83 MB of tables.
const MOST_CONSTANTS: u64 = 8 << 20;
/// The size of a piece, and a limit above the length of the name.
const PIECE: usize = 1 << 16;
const LONGEST_NAME: u64 = 64;

impl Elf {
    /// Returns the CUDA major that a sub-library was built for: it opens `libcublasLt.so.N` by that name.
    pub fn cuda_major(&self) -> Option<u32> {
        let place = self.section(".rodata")?;
        search(&self.file, place, b'l', b"ibcublasLt.so.")
    }
}

#[cfg(any(windows, feature = "build"))]
impl Pe {
    /// Returns the CUDA major that a sub-library was built for: it opens `cublasLt64_N.dll` by that name.
    pub fn cuda_major(&self) -> Option<u32> {
        search(&self.file, self.section(".rdata")?, b'c', b"ublasLt64_")
    }
}

/// Searches the constants at this place in pieces: memory for all of them would take longer than the search.
fn search(file: &BoundedFile, (start, size): (u64, u64), letter: u8, tail: &[u8]) -> Option<u32> {
    let size = Some(size).filter(|size| *size <= MOST_CONSTANTS)?;
    for at in (0..size).step_by(PIECE) {
        // A name may extend into the next piece.
        let length = (size - at).min(PIECE as u64 + LONGEST_NAME);
        let piece = file.read(start.checked_add(at)?, length)?;
        if let Some(major) = cublas_major(&piece, letter, tail) {
            return Some(major);
        }
    }
    None
}

/// Returns the number after the name of cublasLt among constants. Its first letter is separate, as for [`after`].
pub fn cublas_major(constants: &[u8], letter: u8, tail: &[u8]) -> Option<u32> {
    let mut rest = constants;
    loop {
        rest = after(rest, letter, tail)?;
        // At the end of the constants, the number may be truncated.
        let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        let digits = rest.get(..end)?;
        if let Ok(major) = String::from_utf8_lossy(digits).parse() {
            return Some(major);
        }
    }
}
