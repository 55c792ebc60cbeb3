//! The versions of symbols in an ELF file: those that it has, those that it takes from others, and what is taken under
//! them. The tables: <https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html>

use crate::runtime::binary::elf::{Elf, lossy};

const SHT_DYNSYM: u64 = 11;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_VERDEF: u64 = 0x6fff_fffc;
const DT_VERNEED: u64 = 0x6fff_fffe;
const VER_FLG_WEAK: u64 = 2;
/// The part of a version's number that is the number. No file has more of them.
const NUMBER: u64 = 0x7fff;
/// More symbols than a program takes from others, and more letters than their names have together. Damaged tables name
/// one long text again and again.
const MOST_SYMBOLS: u64 = 1 << 20;
const MOST_LETTERS: usize = 32 << 20;

/// What is taken from one library.
struct VerneedEntry {
    file: String,
    versions: Vec<NeededVersion>,
}

struct NeededVersion {
    number: u64,
    name: String,
    /// It may be missing.
    is_weak: bool,
}

/// How many letters of names may yet be kept.
struct NameBudget(usize);

impl NameBudget {
    fn spend(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.checked_sub(count)?;
        Some(())
    }
}

impl Elf {
    /// The versions that it has.
    pub fn versions(&self) -> Vec<String> {
        self.defined_versions().unwrap_or_default()
    }

    /// The versions that have to be in other libraries, by file name.
    pub fn needed_versions(&self) -> Vec<(String, Vec<String>)> {
        let needed = self.version_needs().unwrap_or_default().into_iter();
        needed
            .map(|one| {
                let versions = one.versions.into_iter().filter(|version| !version.is_weak);
                (one.file, versions.map(|version| version.name).collect())
            })
            .collect()
    }

    /// What it takes from other libraries under the name of a version: the library's file name and the symbol.
    pub fn named_imports(&self) -> Vec<(String, Vec<u8>)> {
        self.versioned_imports().unwrap_or_default()
    }

    /// The functions that others have to have for it, whatever library they are in.
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
            // Behind its own name stand those of the versions that it continues.
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
        let mut wanted = Vec::new();
        for index in 1..first.min(MOST_SYMBOLS) {
            let symbol = self.symbol(index)?;
            if symbol.is_defined || symbol.is_weak {
                continue;
            }
            let number = self.entry(numbers_at.checked_add(index * 2)?, 2)?;
            let number = layout.number(&number, 0, 2)? & NUMBER;
            // A name that is too long to be one of NVIDIA's is left out.
            if let (Some(file), Some(name)) = (files[number as usize], self.name(symbol.name)) {
                letters.spend(file.len() + name.len())?;
                wanted.push((file.clone(), name));
            }
        }
        Some(wanted)
    }

    /// By the section: a program that has nothing for others has an empty hash table, which does not tell how many
    /// symbols there are.
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
