//! What a DLL or a program for Windows holds for CUDA, by its sections.

use crate::runtime::binary::cublas_major::cublas_major;
use crate::runtime::binary::pe::Pe;

/// More than any part has whose strings name cublasLt; `cudnn_heuristic64_9.dll` has 83 MB of tables.
const MOST_CONSTANTS: u64 = 8 << 20;
const WRITABLE: u32 = 1 << 31;

impl Pe {
    /// The CUDA major that a part was built for: it opens `cublasLt64_N.dll` by that name.
    pub fn cuda_major(&self) -> Option<u32> {
        let (offset, size) = self.section(".rdata")?;
        let text = self.bytes(offset, Some(size).filter(|size| *size <= MOST_CONSTANTS)?)?;
        cublas_major(&text, b"cublasL", b"t64_")
    }

    /// What is never written to.
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

    /// Where its device code is in the file, and the size of that: 0 if it has none. Names of sections are cut short.
    pub fn device_code(&self) -> Option<(u64, u64)> {
        let place = self.section(".nv_fatb").unwrap_or_default();
        self.defect().is_none().then_some(place)
    }
}
