//! CUDA's data in the sections of a library: the device code, and the name of the cuBLAS library that it opens.

use crate::runtime::binary::elf::Elf;
use crate::runtime::binary::pe::Pe;
use std::io::BufRead;

/// A limit above the size of the constants in every sub-library that names cublasLt. `libcudnn_graph` has 24 MB of
/// device code among its constants, and `cudnn_heuristic64_9.dll` has 83 MB of tables.
const MOST_CONSTANTS: u64 = 8 << 20;
/// `IMAGE_SCN_MEM_WRITE`
const WRITABLE: u32 = 1 << 31;

/// The number of bytes that are searched at a time. Linkers put the strings before or after the tables of numbers.
const BLOCK: usize = 64 << 10;

/// A limit above the length of the name of a cublasLt.
const NAME: usize = 64;

impl Elf {
    /// Returns the CUDA major that a sub-library was built for: it opens `libcublasLt.so.N` by that name.
    pub fn cuda_major(&self) -> Option<u32> {
        let (offset, size) = self.section(".rodata")?;
        let text = self.bytes(offset, Some(size).filter(|size| *size <= MOST_CONSTANTS)?)?;
        cublas_major(&text, b"libcublasL", b"t.so.")
    }

    /// Returns the offset and the size of the device code in the file; the size is 0 if there is none.
    pub fn device_code(&self) -> Option<(u64, u64)> {
        let sections = self.sections()?;
        let names = self.section_names(&sections);
        for section in &sections {
            // A section without a readable name may contain the device code.
            if self.section_name(names?, section)? == b".nv_fatbin" {
                return section.range();
            }
        }
        Some((0, 0))
    }
}

impl Pe {
    /// Returns the CUDA major that a sub-library was built for: it opens `cublasLt64_N.dll` by that name.
    pub fn cuda_major(&self) -> Option<u32> {
        let (offset, size) = self.section(".rdata")?;
        let text = self.bytes(offset, Some(size).filter(|size| *size <= MOST_CONSTANTS)?)?;
        cublas_major(&text, b"cublasL", b"t64_")
    }

    /// Returns the contents of the sections that are never written to.
    pub fn read_only(&self) -> Vec<Vec<u8>> {
        let sections = self.sections.iter();
        let sections = sections.filter(|one| one.flags & WRITABLE == 0);
        // The sections of a valid file do not overlap.
        let mut left = self.length();
        sections
            .filter_map(|one| {
                left = left.checked_sub(one.size.into())?;
                self.bytes(one.offset.into(), one.size.into())
            })
            .collect()
    }

    /// Like [`Elf::device_code`]. The names of sections are truncated.
    pub fn device_code(&self) -> Option<(u64, u64)> {
        let place = self.section(".nv_fatb").unwrap_or_default();
        self.defect().is_none().then_some(place)
    }
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
            let digits = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = std::str::from_utf8(tail.get(..digits)?).ok();
            if let Some(major) = number.and_then(|digits| digits.parse().ok()) {
                return Some(major);
            }
        }
    }
    None
}
