//! The sections of an ELF file, which linkers read. A stripped file may have none.

use crate::runtime::binary::{Elf, number};

const SHT_NOBITS: u64 = 8;
/// The size of a row of the table of sections.
const SECTION: usize = 64;

pub struct Section {
    name: u64,
    pub kind: u64,
    offset: u64,
    pub size: u64,
}

impl Section {
    /// Returns its offset and size in the file; `None` if it has no bytes there.
    pub fn range(&self) -> Option<(u64, u64)> {
        (self.kind != SHT_NOBITS).then_some((self.offset, self.size))
    }
}

impl Elf {
    /// Returns the offset and the size of the section of this name.
    pub fn section(&self, name: &str) -> Option<(u64, u64)> {
        self.find_section(name)??.range()
    }

    /// Returns the section of this name, if there is one; `None` if a section without a readable name may be it.
    pub fn find_section(&self, name: &str) -> Option<Option<Section>> {
        let sections = self.sections()?;
        let index = number(&self.start, 62, 2)?;
        let (offset, size) = sections.get(index as usize)?.range()?;
        if offset.checked_add(size)? > self.length() {
            return None;
        }
        for section in sections {
            let left = size.checked_sub(section.name)?;
            if self.file.text(offset.checked_add(section.name)?, left)? == name.as_bytes() {
                return Some(Some(section));
            }
        }
        Some(None)
    }

    /// Returns the section of constants, if its size is plausible for a program or library.
    pub fn rodata(&self) -> Option<Vec<u8>> {
        let (offset, size) = self.section(".rodata")?;
        self.bytes(offset, size)
    }

    /// Returns the build ID in hexadecimal.
    pub fn build_id(&self) -> Option<String> {
        // The segment is wrong in sub-libraries of 8.x, unlike the section.
        let (offset, size) = self.section(".note.gnu.build-id")?;
        if size > 256 {
            return None;
        }
        let note = self.bytes(offset, size)?;
        let mut id = String::new();
        for byte in note.get(12..)?.strip_prefix(b"GNU\0")? {
            id += &format!("{byte:02x}");
        }
        Some(id)
    }

    /// Returns its sections; `None` if it has none, since its contents may be in no section.
    pub fn sections(&self) -> Option<Vec<Section>> {
        if !self.is_64_bit_le {
            return None;
        }
        let field = |at, size| number(&self.start, at, size);
        let rows = self.rows(field(40, 8)?, field(58, 2)?, field(60, 2)?, SECTION)?;
        let mut sections = Vec::new();
        for row in rows.chunks_exact(SECTION) {
            sections.push(Section {
                name: number(row, 0, 4)?,
                kind: number(row, 4, 4)?,
                offset: number(row, 24, 8)?,
                size: number(row, 32, 8)?,
            });
        }
        (!sections.is_empty()).then_some(sections)
    }
}
