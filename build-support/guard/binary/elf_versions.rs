//! The symbol versions of an ELF file: the versions that it defines, the versions that it requires, and the symbols
//! that it imports under them. The tables:
//! <https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html>

use crate::runtime::binary::elf::{Elf, lossy};

const SHT_DYNSYM: u64 = 11;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_VERDEF: u64 = 0x6fff_fffc;
const DT_VERNEED: u64 = 0x6fff_fffe;
const VER_FLG_WEAK: u64 = 2;
/// The mask of a version's number, and so the most versions of a file.
const NUMBER: u64 = 0x7fff;
/// Limits above the number of symbols that a program imports, and above the total length of their names. Damaged tables
/// may name a long text many times.
const MOST_SYMBOLS: u64 = 1 << 20;
const MOST_LETTERS: usize = 32 << 20;

/// The versions that are required of a library.
struct VerneedEntry {
    file: String,
    versions: Vec<NeededVersion>,
}

struct NeededVersion {
    number: u64,
    name: String,
    /// `true` if the version may be missing.
    is_weak: bool,
}

/// The number of letters that may still be kept.
struct NameBudget(usize);

impl NameBudget {
    fn spend(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.checked_sub(count)?;
        Some(())
    }
}

impl Elf {
    /// Returns the versions that it defines.
    pub fn versions(&self) -> Vec<String> {
        self.defined_versions().unwrap_or_default()
    }

    /// Returns the versions that other libraries have to define, by file name.
    pub fn needed_versions(&self) -> Vec<(String, Vec<String>)> {
        let needed = self.version_needs().unwrap_or_default().into_iter();
        needed
            .map(|one| {
                let versions = one.versions.into_iter().filter(|version| !version.is_weak);
                (one.file, versions.map(|version| version.name).collect())
            })
            .collect()
    }

    /// Returns the imports with a version: the library's file name and the symbol.
    pub fn named_imports(&self) -> Vec<(String, Vec<u8>)> {
        self.versioned_imports().unwrap_or_default()
    }

    /// Returns the functions that it imports from any library.
    pub fn calls(&self) -> Vec<String> {
        self.imports().unwrap_or_default()
    }

    fn defined_versions(&self) -> Option<Vec<String>> {
        let layout = self.layout()?;
        let mut letters = NameBudget(MOST_LETTERS);
        let mut versions = Vec::new();
        let mut at = self.dynamic_value(DT_VERDEF)?;
        for _ in 0..NUMBER {
            let row = self.entry(at, 20)?;
            let first = at.checked_add(layout.number(&row, 12, 4)?)?;
            // The first name is its own. The names of the versions that it inherits follow.
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

    fn version_needs(&self) -> Option<Vec<VerneedEntry>> {
        let layout = self.layout()?;
        let mut letters = NameBudget(MOST_LETTERS);
        let (mut needed, mut count) = (Vec::new(), 0);
        let mut at = self.dynamic_value(DT_VERNEED)?;
        while count < NUMBER {
            let row = self.entry(at, 16)?;
            let file = self.name(layout.number(&row, 4, 4)?)?;
            letters.spend(file.len())?;
            let mut versions = Vec::new();
            let mut version_at = at.checked_add(layout.number(&row, 8, 4)?)?;
            for _ in 0..layout.number(&row, 2, 2)? {
                let row = self.entry(version_at, 16)?;
                let name = self.name(layout.number(&row, 8, 4)?)?;
                letters.spend(name.len())?;
                versions.push(NeededVersion {
                    number: layout.number(&row, 6, 2)? & NUMBER,
                    name: lossy(name),
                    is_weak: layout.number(&row, 4, 2)? & VER_FLG_WEAK != 0,
                });
                match layout.number(&row, 12, 4)? {
                    0 => break,
                    next => version_at = version_at.checked_add(next)?,
                }
            }
            count += 1 + versions.len() as u64;
            needed.push(VerneedEntry {
                file: lossy(file),
                versions,
            });
            match layout.number(&row, 12, 4)? {
                0 => return Some(needed),
                next => at = at.checked_add(next)?,
            }
        }
        None
    }

    fn versioned_imports(&self) -> Option<Vec<(String, Vec<u8>)>> {
        let layout = self.layout()?;
        let numbers_at = self.dynamic_value(DT_VERSYM)?;
        let first = self.gnu_hash()?.first;
        let needs = self.version_needs()?;
        let mut files = vec![None; NUMBER as usize + 1];
        for needed in &needs {
            for version in &needed.versions {
                files[version.number as usize].get_or_insert(&needed.file);
            }
        }
        let mut letters = NameBudget(MOST_LETTERS);
        let mut imports = Vec::new();
        for index in 1..first.min(MOST_SYMBOLS) {
            let symbol = self.symbol(index)?;
            if symbol.is_defined || symbol.is_weak {
                continue;
            }
            let number = self.entry(numbers_at.checked_add(index * 2)?, 2)?;
            let number = layout.number(&number, 0, 2)? & NUMBER;
            // A name that is longer than any of NVIDIA's is left out.
            if let (Some(file), Some(name)) = (files[number as usize], self.name(symbol.name)) {
                letters.spend(file.len() + name.len())?;
                imports.push((file.clone(), name));
            }
        }
        Some(imports)
    }

    /// Reads the section: a program that defines nothing has an empty hash table, from which the number of symbols does
    /// not follow.
    fn imports(&self) -> Option<Vec<String>> {
        let sections = self.sections()?;
        let table = sections.iter().find(|one| one.kind == SHT_DYNSYM)?;
        let count = table.size / self.layout()?.either(16, 24);
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
}
