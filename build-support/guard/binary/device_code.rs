//! The device code and the constants of a library or program, for an inspection.

use crate::runtime::binary::{Elf, Pe};

impl Elf {
    /// Returns the offset and the size of the device code in the file; the size is 0 if there is none.
    pub fn device_code(&self) -> Option<(u64, u64)> {
        match self.find_section(".nv_fatbin")? {
            Some(section) => section.range(),
            None => Some((0, 0)),
        }
    }
}

/// `IMAGE_SCN_MEM_WRITE`
const WRITABLE: u32 = 1 << 31;

impl Pe {
    /// Returns the contents of the sections that are never written to.
    pub fn read_only(&self) -> Vec<Vec<u8>> {
        let sections = self.sections.iter().filter(|one| one.flags & WRITABLE == 0);
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
