//! The dynamic symbols of an ELF file, found through a hash table, as the loader does.

use crate::runtime::binary::elf::lossy;
use crate::runtime::binary::{Elf, number};
use crate::runtime::facts::{SourcedVersion, Version, VersionSource, sub_libraries};

const DT_HASH: u64 = 4;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
/// The size of a row of the table of symbols.
pub const SYMBOL: u64 = 24;
const STB_WEAK: u64 = 2;
const STT_FUNC: u64 = 2;
const STT_GNU_IFUNC: u64 = 10;
/// Limits above the longest chain that a linker writes, and above the number of steps for all names that one library
/// imports from another.
const LONGEST_CHAIN: u32 = 4096;
const MOST_STEPS: u32 = 1 << 16;
/// The most buckets or symbols that are read to see if a library defines any symbol.
const MOST_EMPTY: u64 = 1 << 16;

pub struct Symbol {
    pub index: u64,
    /// The offset of its name in the string table.
    pub name: u64,
    pub is_weak: bool,
    pub is_defined: bool,
    pub is_function: bool,
    address: u64,
}

/// The hash table of defined symbols:
/// <https://sourceware.org/legacy-ml/binutils/2006-10/msg00377.html>
pub struct GnuHash {
    buckets: u64,
    /// The first symbol in the table. The symbols before it are imported.
    pub first: u64,
    buckets_at: u64,
    chains_at: u64,
}

impl Elf {
    /// Returns the version in a data symbol of cuDNN.
    pub fn version(&self, symbol: &str) -> Option<Version> {
        let symbol = self.definition(symbol)?;
        Version::from_symbol(&self.entry(symbol.address, 4)?)
    }

    pub fn release(&self, sub_library: &str) -> Option<SourcedVersion> {
        let symbol = sub_libraries::find(sub_library)?.version_symbol?;
        Some((self.version(symbol)?, VersionSource::Symbol(symbol)))
    }

    /// Returns the required symbols that it does not define; empty if that is unknown.
    pub fn missing_symbols<'s>(&self, required: impl Iterator<Item = &'s [u8]>) -> Vec<String> {
        if self.has_any() != Some(true) {
            return Vec::new();
        }
        let (mut missing, mut steps) = (Vec::new(), MOST_STEPS);
        for name in required {
            if matches!(self.find(name, &mut steps), Some(None)) {
                missing.push(lossy(name.to_vec()));
            }
        }
        missing
    }

    /// Returns `true` if it defines any symbol. A library that only loads other libraries defines none, so no symbol is
    /// missing from it.
    pub fn has_any(&self) -> Option<bool> {
        if let Some(table) = self.gnu_hash() {
            for bucket in 0..table.buckets.min(MOST_EMPTY) {
                if self.word(table.buckets_at, bucket)? != 0 {
                    return Some(true);
                }
            }
            return Some(false);
        }
        let count = self.word(self.dynamic_value(DT_HASH)?, 1)?;
        for index in 1..count.min(MOST_EMPTY) {
            if self.symbol(index)?.is_defined {
                return Some(true);
            }
        }
        Some(false)
    }

    fn definition(&self, name: &str) -> Option<Symbol> {
        let mut steps = LONGEST_CHAIN;
        self.find(name.as_bytes(), &mut steps).flatten()
    }

    /// Returns the symbol of this name, if it is defined; `None` if the search takes more than `steps`.
    fn find(&self, name: &[u8], steps: &mut u32) -> Option<Option<Symbol>> {
        match self.gnu_hash() {
            Some(table) => self.find_by_gnu_hash(&table, name, steps),
            None => self.find_by_hash(self.dynamic_value(DT_HASH)?, name, steps),
        }
    }

    pub fn gnu_hash(&self) -> Option<GnuHash> {
        let table = self.dynamic_value(DT_GNU_HASH)?;
        let buckets = self.word(table, 0)?;
        let filter = self.word(table, 2)? * 8;
        let buckets_at = table.checked_add(16)?.checked_add(filter)?;
        Some(GnuHash {
            buckets,
            first: self.word(table, 1)?,
            buckets_at,
            chains_at: buckets_at.checked_add(buckets * 4)?,
        })
    }

    fn find_by_gnu_hash(
        &self,
        table: &GnuHash,
        name: &[u8],
        steps: &mut u32,
    ) -> Option<Option<Symbol>> {
        let mut hash = 5381_u32;
        for byte in name {
            hash = hash.wrapping_mul(33).wrapping_add(u32::from(*byte));
        }
        let hash = u64::from(hash);
        let mut index = self.word(table.buckets_at, hash.checked_rem(table.buckets)?)?;
        if index == 0 {
            return Some(None);
        }
        loop {
            *steps = steps.checked_sub(1)?;
            let value = self.word(table.chains_at, index.checked_sub(table.first)?)?;
            if value | 1 == hash | 1 {
                if let Some(symbol) = self.defined(index, name)? {
                    return Some(Some(symbol));
                }
            }
            if value & 1 == 1 {
                return Some(None);
            }
            index += 1;
        }
    }

    /// System V generic ABI, chapter 5, "Hash Table".
    fn find_by_hash(&self, table: u64, name: &[u8], steps: &mut u32) -> Option<Option<Symbol>> {
        let mut hash = 0_u32;
        for byte in name {
            hash = (hash << 4).wrapping_add(u32::from(*byte));
            let high = hash & 0xf000_0000;
            hash = (hash ^ (high >> 24)) & !high;
        }
        let buckets = self.word(table, 0)?;
        let mut index = self.word(table, 2 + u64::from(hash).checked_rem(buckets)?)?;
        loop {
            if index == 0 {
                return Some(None);
            }
            *steps = steps.checked_sub(1)?;
            if let Some(symbol) = self.defined(index, name)? {
                return Some(Some(symbol));
            }
            index = self.word(table, 2 + buckets + index)?;
        }
    }

    /// Returns the symbol with this number, if it has this name and is not imported.
    fn defined(&self, index: u64, name: &[u8]) -> Option<Option<Symbol>> {
        let symbol = self.symbol(index)?;
        let is_it = symbol.is_defined && self.is_name(symbol.name, name);
        Some(Some(symbol).filter(|_| is_it))
    }

    pub fn symbol(&self, index: u64) -> Option<Symbol> {
        let at = self.dynamic_value(DT_SYMTAB)?.checked_add(index * SYMBOL)?;
        let row = self.entry(at, SYMBOL)?;
        let info = number(&row, 4, 1)?;
        Some(Symbol {
            index,
            name: number(&row, 0, 4)?,
            is_weak: info >> 4 == STB_WEAK,
            is_defined: number(&row, 6, 2)? != 0,
            is_function: matches!(info & 0xf, STT_FUNC | STT_GNU_IFUNC),
            address: number(&row, 8, 8)?,
        })
    }

    /// Reads a word of four bytes of the table at this address.
    fn word(&self, table: u64, index: u64) -> Option<u64> {
        let word = self.entry(table.checked_add(index * 4)?, 4)?;
        number(&word, 0, 4)
    }

    /// Returns `true` if it is the toolkit's stub of the driver's library, whose `cuInit` only returns an error.
    pub fn is_driver_stub(&self) -> bool {
        // The instruction that returns `CUDA_ERROR_STUB_LIBRARY`, in a function compiled without optimization.
        let answer: &[u8] = match self.cpu() {
            Some("x86_64") => b"\xb8\x22\0\0\0",
            Some("aarch64") => b"\x40\x04\x80\x52",
            _ => return false,
        };
        let init = self.definition("cuInit");
        let code = init.and_then(|init| self.entry(init.address, 16));
        let code = code.unwrap_or_default();
        code.windows(answer.len()).any(|bytes| bytes == answer)
    }

    pub fn defines(&self, symbol: &str) -> bool {
        self.definition(symbol).is_some()
    }
}
