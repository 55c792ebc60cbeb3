//! The versions that an ELF file defines and requires, and the functions that it imports, for an inspection.

use crate::runtime::binary::elf::{Elf, lossy};
use crate::runtime::binary::elf_versions::{MOST_LETTERS, NUMBER, spend};
use crate::runtime::binary::number;

const DT_VERDEF: u64 = 0x6fff_fffc;

impl Elf {
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
        let mut calls = Vec::new();
        let read = self.each_symbol(&mut |symbol, name| {
            if !symbol.is_defined && !symbol.is_weak {
                calls.push(name);
            }
        });
        read.map_or_else(Vec::new, |()| calls)
    }

    fn defined_versions(&self) -> Option<Vec<String>> {
        let mut letters = MOST_LETTERS;
        let mut versions = Vec::new();
        let mut at = self.dynamic_value(DT_VERDEF)?;
        for _ in 0..NUMBER {
            let row = self.entry(at, 20)?;
            let first = at.checked_add(number(&row, 12, 4)?)?;
            // The first name is that of the version itself. The names of the versions that it inherits follow.
            let name = self.name(number(&self.entry(first, 8)?, 0, 4)?)?;
            spend(&mut letters, name.len())?;
            versions.push(lossy(name));
            match number(&row, 16, 4)? {
                0 => return Some(versions),
                next => at = at.checked_add(next)?,
            }
        }
        None
    }
}
