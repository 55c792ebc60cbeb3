//! What a library defines and wants, by name.

use super::library::{Header, Library};
use object::elf::{self, SHT_DYNSYM, SHT_GNU_HASH};
use object::read::elf::{
    FileHeader, GnuHashTable, SectionHeader, SectionTable, Sym, SymbolTable, VersionTable,
};
use object::{Endianness, ReadCache, ReadRef, SymbolIndex};
use std::fs::File;

type Bytes<'a> = &'a ReadCache<File>;

/// The dynamic symbols of a library, with the table by which they are found.
pub struct Symbols<'a> {
    file: Bytes<'a>,
    endian: Endianness,
    sections: SectionTable<'a, Header, Bytes<'a>>,
    symbols: SymbolTable<'a, Header, Bytes<'a>>,
    table: GnuHashTable<'a, Header>,
}

impl<'a> Symbols<'a> {
    /// Those of a library; none of one that does not tell.
    pub fn of(library: &'a Library) -> Option<Self> {
        let file = &library.file;
        let (endian, header) = library.header()?;
        let sections = header.sections(endian, file).ok()?;
        let symbols = sections.symbols(endian, file, SHT_DYNSYM).ok()?;
        let hashes = sections
            .iter()
            .find(|section| section.sh_type(endian) == SHT_GNU_HASH)?;
        let bytes = hashes.data(endian, file).ok()?;
        let head = hashes.gnu_hash_header(endian, file).ok()??;
        // With these numbers the look-up would divide by nothing or shift too far: a damaged file.
        let shift = head.bloom_shift.get(endian);
        if head.bucket_count.get(endian) == 0 || head.bloom_count.get(endian) == 0 || shift > 31 {
            return None;
        }
        let table = GnuHashTable::parse(endian, bytes).ok()?;
        Some(Self {
            file,
            endian,
            sections,
            symbols,
            table,
        })
    }

    /// The symbol of this name, if it is defined here.
    pub fn find(&self, name: &[u8]) -> Option<&'a elf::Sym64<Endianness>> {
        let (hash, versions) = (elf::gnu_hash(name), VersionTable::default());
        let table = &self.table;
        let found = table.find(self.endian, name, hash, None, &self.symbols, &versions)?;
        Some(found.1)
    }

    /// The bytes that a data symbol stands for, if this library defines it.
    pub fn data(&self, name: &str, size: u64) -> Option<&'a [u8]> {
        let endian = self.endian;
        let symbol = self.find(name.as_bytes())?;
        let index = usize::from(symbol.st_shndx(endian));
        let section = self.sections.iter().nth(index).filter(|_| index != 0)?;
        let inside = symbol
            .st_value(endian)
            .checked_sub(section.sh_addr(endian))?;
        if inside.checked_add(size)? > section.sh_size(endian) {
            return None;
        }
        let offset = section.sh_offset(endian).checked_add(inside)?;
        self.file.read_bytes_at(offset, size).ok()
    }

    /// What it takes from other libraries under the name of a version: the library's file name and the symbol.
    pub fn wanted(&self) -> Option<Vec<(String, Vec<u8>)>> {
        let endian = self.endian;
        let versions = self.sections.versions(endian, self.file).ok()??;
        let mut wanted = Vec::new();
        // The table begins where the library's own symbols do.
        for index in 1..self.table.symbol_base() as usize {
            let index = SymbolIndex(index);
            let symbol = self.symbols.symbol(index).ok()?;
            let version = versions.version(versions.version_index(endian, index));
            let file = version.ok().flatten().and_then(|version| version.file());
            if let (true, false, Some(file)) = (symbol.is_undefined(endian), symbol.is_weak(), file)
            {
                let name = symbol.name(endian, self.symbols.strings()).ok()?;
                wanted.push((String::from_utf8_lossy(file).into_owned(), name.to_vec()));
            }
        }
        Some(wanted)
    }

    /// What others have to have for it.
    #[cfg(feature = "cli")]
    pub fn called(&self) -> Vec<String> {
        let endian = self.endian;
        let undefined = self
            .symbols
            .iter()
            .filter(|symbol| symbol.is_undefined(endian) && !symbol.is_weak());
        undefined
            .filter_map(|symbol| symbol.name(endian, self.symbols.strings()).ok())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect()
    }
}
