//! The versions that an ELF file defines and requires, the functions that it imports, the device code of a library and
//! the constants of a DLL, for an inspection.

use crate::runtime::binary::elf::{Elf, lossy};
use crate::runtime::binary::elf_versions::{MOST_LETTERS, MOST_SYMBOLS, NUMBER, NameBudget};
use crate::runtime::binary::pe::Pe;

const SHT_DYNSYM: u64 = 11;
const DT_VERDEF: u64 = 0x6fff_fffc;
/// `IMAGE_SCN_MEM_WRITE`
const WRITABLE: u32 = 1 << 31;

impl Elf {
    /// Returns the versions that it defines.
    pub fn versions(&self) -> Vec<String> {
        self.defined_versions().unwrap_or_default()
    }

    /// Returns the versions that it requires, by the file name of the library that must define them.
    pub fn needed_versions(&self) -> Vec<(String, Vec<String>)> {
        let needed = self.version_needs().unwrap_or_default().into_iter();
        needed
            .map(|one| {
                let versions = one.versions.into_iter().filter(|version| !version.is_weak);
                (one.file, versions.map(|version| version.name).collect())
            })
            .collect()
    }

    /// Returns the functions that it imports from any library.
    pub fn calls(&self) -> Vec<String> {
        self.imports().unwrap_or_default()
    }

    fn defined_versions(&self) -> Option<Vec<String>> {
        let layout = self.layout?;
        let mut letters = NameBudget(MOST_LETTERS);
        let mut versions = Vec::new();
        let mut at = self.dynamic_value(DT_VERDEF)?;
        for _ in 0..NUMBER {
            let row = self.entry(at, 20)?;
            let first = at.checked_add(layout.number(&row, 12, 4)?)?;
            // The first name is that of the version itself. The names of the versions that it inherits follow.
            let name = self.name(layout.number(&self.entry(first, 8)?, 0, 4)?)?;
            letters.spend(name.len())?;
            versions.push(lossy(name));
            match layout.number(&row, 16, 4)? {
                0 => return Some(versions),
                next => at = at.checked_add(next)?,
            }
        }
        None
    }

    /// Reads the section, not the hash table: a program that defines nothing has an empty hash table, which does not
    /// show the number of symbols.
    fn imports(&self) -> Option<Vec<String>> {
        let sections = self.sections()?;
        let table = sections.iter().find(|one| one.kind == SHT_DYNSYM)?;
        let count = table.size / self.layout?.either(16, 24);
        let mut letters = NameBudget(MOST_LETTERS);
        let mut imports = Vec::new();
        for index in 1..count.min(MOST_SYMBOLS) {
            let Some(symbol) = self.symbol(index) else {
                break;
            };
            if symbol.is_defined || symbol.is_weak {
                continue;
            }
            if let Some(name) = self.name(symbol.name) {
                letters.spend(name.len())?;
                imports.push(lossy(name));
            }
        }
        Some(imports)
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
