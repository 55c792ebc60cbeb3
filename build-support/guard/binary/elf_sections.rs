//! The sections of an ELF file, which linkers read. A stripped file may have none.

use crate::runtime::binary::elf::Elf;

const SHT_NOBITS: u64 = 8;

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
        let sections = self.sections()?;
        let names = self.section_names(&sections)?;
        for section in &sections {
            if self.section_name(names, section).as_deref() == Some(name.as_bytes()) {
                return section.range();
            }
        }
        None
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
        let (layout, head) = (self.layout?, &self.start);
        let field = |narrow, wide| layout.number(head, layout.either(narrow, wide), 2);
        let (place, size) = (layout.address(head, 32, 40)?, layout.either(40, 64));
        let rows = self.rows(place, field(46, 58)?, field(48, 60)?, size)?;
        let mut sections = Vec::new();
        for row in rows.chunks_exact(size) {
            sections.push(Section {
                name: layout.number(row, 0, 4)?,
                kind: layout.number(row, 4, 4)?,
                offset: layout.address(row, 16, 24)?,
                size: layout.address(row, 20, 32)?,
            });
        }
        (!sections.is_empty()).then_some(sections)
    }

    /// Returns the offset and the size of the names of the sections.
    pub fn section_names(&self, sections: &[Section]) -> Option<(u64, u64)> {
        let layout = self.layout?;
        let index = layout.number(&self.start, layout.either(50, 62), 2)?;
        let (offset, size) = sections.get(index as usize)?.range()?;
        (offset.checked_add(size)? <= self.length()).then_some((offset, size))
    }

    pub fn section_name(&self, (offset, size): (u64, u64), section: &Section) -> Option<Vec<u8>> {
        let left = size.checked_sub(section.name)?;
        self.file.text(offset.checked_add(section.name)?, left)
    }
}
