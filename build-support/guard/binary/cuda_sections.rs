//! The sections of a library in which CUDA has its own: the device code, and the name of the cuBLAS that it opens.

use crate::runtime::binary::elf::Elf;
use crate::runtime::binary::pe::Pe;
use std::io::BufRead;

/// More than any sub-library has whose strings name cublasLt; `libcudnn_graph` has 24 MB of device code among its
/// constants, `cudnn_heuristic64_9.dll` has 83 MB of tables.
const MOST_CONSTANTS: u64 = 8 << 20;
/// The flag of a section that a DLL writes to.
const WRITABLE: u32 = 1 << 31;

/// Linkers put the strings before the tables of numbers or behind them: so much is searched at a time.
const BLOCK: usize = 64 << 10;

/// More than such a name has.
const NAME: usize = 64;

impl Elf {
    /// Returns the CUDA major that a sub-library was built for: it opens `libcublasLt.so.N` by that name.
    pub fn cuda_major(&self) -> Option<u32> {
        let (offset, size) = self.section(".rodata")?;
        let text = self.bytes(offset, Some(size).filter(|size| *size <= MOST_CONSTANTS)?)?;
        cublas_major(&text, b"libcublasL", b"t.so.")
    }

    /// Returns the place of its device code in the file and the size of that: 0 if it has none.
    pub fn device_code(&self) -> Option<(u64, u64)> {
        let sections = self.sections()?;
        let names = self.section_names(&sections);
        for section in &sections {
            // One whose name is not to be read may be it.
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
        // Those of a sound file do not lie over each other.
        let mut left = self.length();
        sections
            .filter_map(|one| {
                left = left.checked_sub(one.size.into())?;
                self.bytes(one.offset.into(), one.size.into())
            })
            .collect()
    }

    /// Returns the place of its device code in the file and the size of that: 0 if it has none. The names of sections are
    /// truncated.
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
    // `skip_until` comes compiled with optimisation; a loop over bytes in a build script does not.
    while rest.skip_until(b'L').is_ok_and(|skipped| skipped > 0) && !rest.is_empty() {
        // Most of the letters are numbers in tables: one byte tells that, before anything is compared.
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
