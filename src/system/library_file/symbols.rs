//! The dynamic symbols of a library, with the table by which they are found.

use crate::system::library_file::elf;
use crate::system::library_file::elf::{Bytes, Elf, Section};

/// A symbol takes up so many bytes.
const ROW: u64 = 24;
/// Longer ones are not made by any linker.
const LONGEST_CHAIN: u32 = 4096;
/// The part of a version's number that is the number.
const NUMBER: u16 = 0x7fff;

pub struct Symbols<'a> {
    file: &'a Elf,
    sections: Vec<Section>,
    symbols: Bytes,
    strings: Bytes,
    /// <https://sourceware.org/legacy-ml/binutils/2006-10/msg00377.html>
    table: Bytes,
    buckets: u32,
    /// The first symbol that is in the table: those before it are other libraries'.
    base: u32,
    /// Where in the table the buckets begin, and where the chains.
    buckets_at: u64,
    chains_at: u64,
}

struct Symbol {
    name: u32,
    is_weak: bool,
    section: u16,
    address: u64,
}

impl<'a> Symbols<'a> {
    pub fn of(file: &'a Elf) -> Option<Self> {
        let sections = file.sections()?;
        let first = |kind: u32| sections.iter().find(|section| section.kind == kind);
        let symbols = first(elf::SHT_DYNSYM)?;
        let strings = sections.get(symbols.link as usize)?;
        let table = file.data(first(elf::SHT_GNU_HASH)?)?;
        let (buckets, base, filter) = (table.word(0)?, table.word(4)?, table.word(8)?);
        let buckets_at = 16 + 8 * u64::from(filter);
        let chains_at = buckets_at + 4 * u64::from(buckets);
        // A library that only leads to others defines nothing, and what they have does not lack in it.
        table.word(chains_at)?;
        Some(Self {
            symbols: file.data(symbols)?,
            strings: file.data(strings)?,
            file,
            sections,
            table,
            buckets,
            base,
            buckets_at,
            chains_at,
        })
    }

    /// Whether the library defines it.
    pub fn has(&self, name: &[u8]) -> bool {
        self.find(name).is_some()
    }

    fn find(&self, name: &[u8]) -> Option<Symbol> {
        let mut hash = 5381_u32;
        for byte in name {
            hash = hash.wrapping_mul(33).wrapping_add(u32::from(*byte));
        }
        let bucket = u64::from(hash.checked_rem(self.buckets)?);
        let mut index = self.table.word(self.buckets_at + 4 * bucket)?;
        if index == 0 {
            return None;
        }
        for _ in 0..LONGEST_CHAIN {
            let link = u64::from(index.checked_sub(self.base)?);
            let value = self.table.word(self.chains_at + 4 * link)?;
            if value | 1 == hash | 1 {
                let symbol = self.symbol(index)?;
                if self.strings.string(symbol.name) == Some(name) {
                    return Some(symbol);
                }
            }
            if value & 1 == 1 {
                return None;
            }
            index = index.checked_add(1)?;
        }
        None
    }

    /// The four bytes that a data symbol stands for, if this library defines it.
    pub fn data(&self, name: &str) -> Option<[u8; 4]> {
        let symbol = self.find(name.as_bytes())?;
        let section = self.sections.get(usize::from(symbol.section));
        let section = section.filter(|_| symbol.section != 0)?;
        let inside = symbol.address.checked_sub(section.address)?;
        if inside.checked_add(4)? > section.size {
            return None;
        }
        let (offset, _) = section.range()?;
        let read = self.file.read(offset.checked_add(inside)?, 4)?;
        read.bytes.first_chunk().copied()
    }

    /// What it takes from other libraries under the name of a version: the library's file name and the symbol.
    pub fn wanted(&self) -> Option<Vec<(String, Vec<u8>)>> {
        let first = |kind: u32| self.sections.iter().find(|section| section.kind == kind);
        let versions = self.file.data(first(elf::SHT_GNU_VERSYM)?)?;
        let files = match first(elf::SHT_GNU_VERNEED) {
            Some(section) => self.files(section)?,
            None => Vec::new(),
        };
        let mut wanted = Vec::new();
        for index in 1..self.base {
            let symbol = self.symbol(index)?;
            if symbol.section != 0 || symbol.is_weak {
                continue;
            }
            let number = versions.half(u64::from(index) * 2).unwrap_or_default() & NUMBER;
            if let Some((_, file)) = files.iter().find(|(known, _)| *known == number) {
                let name = self.strings.string(symbol.name)?;
                wanted.push((file.clone(), name.to_vec()));
            }
        }
        Some(wanted)
    }

    /// The numbers of versions, each with the file name of the library that it is of.
    fn files(&self, section: &Section) -> Option<Vec<(u16, String)>> {
        let strings = self.file.data(self.sections.get(section.link as usize)?)?;
        let needs = self.file.data(section)?;
        let mut files = Vec::new();
        let mut at = 0;
        // Damaged tables end too.
        for _ in 0..NUMBER {
            let name = String::from_utf8_lossy(strings.string(needs.word(at + 4)?)?).into_owned();
            let mut version = at + u64::from(needs.word(at + 8)?);
            for _ in 0..needs.half(at + 2)? {
                files.push((needs.half(version + 6)? & NUMBER, name.clone()));
                match needs.word(version + 12)? {
                    0 => break,
                    next => version += u64::from(next),
                }
            }
            match needs.word(at + 12)? {
                0 => return Some(files),
                next if files.len() < usize::from(NUMBER) => at += u64::from(next),
                _ => return None,
            }
        }
        None
    }

    fn symbol(&self, index: u32) -> Option<Symbol> {
        Symbol::of(&self.symbols, index)
    }
}

impl Symbol {
    fn of(rows: &Bytes, index: u32) -> Option<Self> {
        let at = u64::from(index) * ROW;
        Some(Self {
            name: rows.word(at)?,
            is_weak: rows.bytes.get(usize::try_from(at + 4).ok()?)? >> 4 == 2,
            section: rows.half(at + 6)?,
            address: rows.wide(at + 8)?,
        })
    }
}

/// The functions that others have to have for it. A program that has nothing for others has an empty hash table.
#[cfg(feature = "cli")]
pub fn called(file: &Elf) -> Option<Vec<String>> {
    let sections = file.sections()?;
    let table = sections.iter().find(|one| one.kind == elf::SHT_DYNSYM)?;
    let strings = file.data(sections.get(table.link as usize)?)?;
    let rows = file.data(table)?;
    let symbols = (0..u32::MAX).map_while(|index| Symbol::of(&rows, index));
    let called = symbols
        .filter(|symbol| symbol.section == 0 && !symbol.is_weak)
        .filter_map(|symbol| strings.string(symbol.name))
        .map(|name| String::from_utf8_lossy(name).into_owned());
    Some(called.collect())
}
