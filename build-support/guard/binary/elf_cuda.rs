//! What an ELF file holds for CUDA, by its sections.

use crate::runtime::binary::cublas_major::cublas_major;
use crate::runtime::binary::elf::Elf;

/// More than any part has whose strings name cublasLt; `libcudnn_graph` has 24 MB of device code among its constants.
const MOST_CONSTANTS: u64 = 8 << 20;

impl Elf {
    /// The CUDA major that a part was built for: it opens `libcublasLt.so.N` by that name.
    pub fn cuda_major(&self) -> Option<u32> {
        let (offset, size) = self.section(".rodata")?;
        let text = self.bytes(offset, Some(size).filter(|size| *size <= MOST_CONSTANTS)?)?;
        cublas_major(&text, b"libcublasL", b"t.so.")
    }

    /// Where its device code is in the file, and the size of that: 0 if it has none.
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
