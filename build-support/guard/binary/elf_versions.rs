//! The symbol versions that an ELF file requires and defines, and the symbols that it imports under them. The tables:
//! <https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html>

use crate::runtime::binary::elf::lossy;
use crate::runtime::binary::{Elf, number};

#[cfg(feature = "runtime")]
const DT_VERDEF: u64 = 0x6fff_fffc;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_VERNEED: u64 = 0x6fff_fffe;
const VER_FLG_WEAK: u64 = 2;
/// The mask of a version's number, and therefore the largest number of versions in a file.
const NUMBER: u64 = 0x7fff;
/// Limits above the number of symbols that a program imports, and above the total length of their names. Damaged tables
/// may refer to a long string many times.
pub const MOST_SYMBOLS: u64 = 1 << 20;
pub const MOST_LETTERS: usize = 32 << 20;

/// The versions that the file requires of a library.
pub struct VerneedEntry {
    pub file: String,
    pub versions: Vec<NeededVersion>,
}

pub struct NeededVersion {
    pub number: u64,
    pub name: String,
    /// `true` if the version may be missing.
    pub is_weak: bool,
}

/// Subtracts the length of a name from the number of letters that may still be kept.
pub fn spend(letters: &mut usize, count: usize) -> Option<()> {
    *letters = letters.checked_sub(count)?;
    Some(())
}

impl Elf {
    /// Returns the imports with a version: the library's file name and the symbol.
    pub fn named_imports(&self) -> Vec<(String, Vec<u8>)> {
        self.versioned_imports().unwrap_or_default()
    }

    pub fn version_needs(&self) -> Option<Vec<VerneedEntry>> {
        let mut letters = MOST_LETTERS;
        let (mut needed, mut count) = (Vec::new(), 0);
        let mut at = self.dynamic_value(DT_VERNEED)?;
        while count < NUMBER {
            let row = self.entry(at, 16)?;
            let file = self.name(number(&row, 4, 4)?)?;
            spend(&mut letters, file.len())?;
            let mut versions = Vec::new();
            let mut version_at = at.checked_add(number(&row, 8, 4)?)?;
            for _ in 0..number(&row, 2, 2)? {
                let row = self.entry(version_at, 16)?;
                let name = self.name(number(&row, 8, 4)?)?;
                spend(&mut letters, name.len())?;
                versions.push(NeededVersion {
                    number: number(&row, 6, 2)? & NUMBER,
                    name: lossy(name),
                    is_weak: number(&row, 4, 2)? & VER_FLG_WEAK != 0,
                });
                match number(&row, 12, 4)? {
                    0 => break,
                    next => version_at = version_at.checked_add(next)?,
                }
            }
            count += 1 + versions.len() as u64;
            needed.push(VerneedEntry {
                file: lossy(file),
                versions,
            });
            match number(&row, 12, 4)? {
                0 => return Some(needed),
                next => at = at.checked_add(next)?,
            }
        }
        None
    }

    /// Returns the number of this symbol's version.
    pub fn version_number(&self, symbol: u64) -> Option<u64> {
        let numbers_at = self.dynamic_value(DT_VERSYM)?;
        let row = self.entry(numbers_at.checked_add(symbol * 2)?, 2)?;
        Some(number(&row, 0, 2)? & NUMBER)
    }

    fn versioned_imports(&self) -> Option<Vec<(String, Vec<u8>)>> {
        let first = self.gnu_hash()?.first;
        let needs = self.version_needs()?;
        let mut files = vec![None; NUMBER as usize + 1];
        for needed in &needs {
            for version in &needed.versions {
                files[version.number as usize].get_or_insert(&needed.file);
            }
        }
        let mut letters = MOST_LETTERS;
        let mut imports = Vec::new();
        for index in 1..first.min(MOST_SYMBOLS) {
            let symbol = self.symbol(index)?;
            if symbol.is_defined || symbol.is_weak {
                continue;
            }
            let file = files[self.version_number(index)? as usize];
            // A name that is longer than any of NVIDIA's is left out.
            if let (Some(file), Some(name)) = (file, self.name(symbol.name)) {
                spend(&mut letters, file.len() + name.len())?;
                imports.push((file.clone(), name));
            }
        }
        Some(imports)
    }
}

/// For an inspection.
#[cfg(feature = "runtime")]
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
