//! DLLs and programs for Windows, read on any system without running any of their code. The format:
//! <https://learn.microsoft.com/windows/win32/debug/pe-format>.

use crate::runtime::binary::elf::lossy;
use crate::runtime::binary::{BoundedFile, Defect, Elf};
use crate::runtime::facts::{SourcedVersion, Version, VersionSource, sub_libraries};
use std::env::consts::ARCH;
use std::path::Path;
use std::rc::Rc;

/// The type of a version resource, and the signature of its fixed part.
const VERSION: u32 = 16;
const FIXED: u32 = 0xfeef_04bd;

/// Limits for damaged tables, above the number of DLLs that a DLL of cuDNN imports, and above the number of functions
/// imported from all of them.
const MOST_IMPORTS: u32 = 128;
const MOST_NAMES: u32 = 1 << 15;
/// A limit above the total length of these names.
const MOST_LETTERS: usize = 32 << 20;
/// Windows loads no file with more than 96 sections.
const MOST_SECTIONS: usize = 128;

/// An open file. If it is not a DLL or program, the methods about its contents return nothing.
pub struct Pe {
    pub(super) file: Rc<BoundedFile>,
    machine: u32,
    defect: Option<Defect>,
    /// Empty if the file is damaged.
    pub sections: Vec<Section>,
    exports: u32,
    imports: u32,
    delayed: u32,
    resources: u32,
}

/// A part of the file that is mapped as a whole.
pub struct Section {
    name: [u8; 8],
    address: u32,
    /// The offset in the file.
    pub offset: u32,
    /// The size in the file.
    pub size: u32,
    /// `IMAGE_SCN_*`
    pub flags: u32,
}

impl Section {
    fn parse(table: &[u8], at: u32) -> Option<Self> {
        let entry = table.get(at as usize..)?;
        Some(Self {
            name: entry.get(..8)?.try_into().ok()?,
            address: number(entry, 12, 4)?,
            size: number(entry, 16, 4)?,
            offset: number(entry, 20, 4)?,
            flags: number(entry, 36, 4)?,
        })
    }
}

impl Pe {
    /// Opens a file of any kind.
    pub fn read(path: &Path) -> Result<Self, Defect> {
        let file = BoundedFile::open_library(path).map_err(|error| Defect::unopened(&error))?;
        let mut pe = Self {
            file,
            machine: 0,
            defect: None,
            sections: Vec::new(),
            exports: 0,
            imports: 0,
            delayed: 0,
            resources: 0,
        };
        pe.defect = pe.parse().err();
        if let Some(failure) = pe.file.failure() {
            return Err(failure);
        }
        if pe.defect.is_some() {
            // Nothing that a truncated file contains is reliable.
            pe.sections.clear();
        }
        Ok(pe)
    }

    fn parse(&mut self) -> Result<(), Defect> {
        if self.length() == 0 {
            return Err(Defect::Empty);
        }
        let foreign = |start: &[u8]| Defect::foreign("a DLL", start);
        let start = self.bytes(0, self.length().min(64)).unwrap_or_default();
        if !start.starts_with(b"MZ") {
            return Err(foreign(&start));
        }
        let place = u64::from(number(&start, 0x3c, 4).ok_or(self.truncated(64))?);
        let head = self.read_range(place, 24)?;
        if !head.starts_with(b"PE\0\0") {
            return Err(foreign(&[]));
        }
        self.machine = number(&head, 4, 2).unwrap_or_default();
        let count = number(&head, 6, 2).unwrap_or_default();
        let size = number(&head, 20, 2).unwrap_or_default();
        let rest = self.read_range(place + 24, u64::from(size + count * 40))?;
        // Only 64-bit files: cuDNN has never been anything else.
        if number(&rest, 0, 2) != Some(0x20b) {
            return Ok(());
        }
        let mut reach = 0;
        for index in 0..count {
            if let Some(section) = Section::parse(&rest, size + index * 40) {
                reach = reach.max(u64::from(section.offset) + u64::from(section.size));
                self.sections.push(section);
            }
        }
        if reach > self.length() {
            return Err(self.truncated(reach));
        }
        self.sections.truncate(MOST_SECTIONS);
        let table = |at| number(&rest, at, 4).unwrap_or_default();
        (self.exports, self.imports, self.resources) = (table(112), table(120), table(128));
        // A shorter header has no entry for this table.
        self.delayed = if size < 224 { 0 } else { table(216) };
        Ok(())
    }

    fn read_range(&self, place: u64, size: u64) -> Result<Vec<u8>, Defect> {
        self.bytes(place, size).ok_or(self.truncated(place + size))
    }

    fn truncated(&self, reach: u64) -> Defect {
        Defect::Truncated("sections", reach, self.length())
    }

    pub fn length(&self) -> u64 {
        self.file.length()
    }

    /// Opens a file and checks that this process could load it.
    pub fn open(path: &Path) -> Result<Self, Defect> {
        Self::open_for(path, ARCH)
    }

    /// Opens a file and checks that a program for this CPU could load it.
    pub fn open_for(path: &Path, own: &str) -> Result<Self, Defect> {
        let pe = Self::read(path)?;
        match (pe.defect(), pe.cpu()) {
            (Some(defect), _) => Err(defect),
            (None, Some(cpu)) if cpu != own => Err(Defect::Cpu(cpu, own.into())),
            _ => Ok(pe),
        }
    }

    /// Returns `None`: a DLL has no SONAME, no build ID and no directories of its own.
    pub fn as_elf(&self) -> Option<&Elf> {
        None
    }

    /// Returns the reason why Windows cannot load it, apart from its CPU.
    pub fn defect(&self) -> Option<Defect> {
        self.defect.clone()
    }

    /// Returns the name of its CPU in target triples.
    pub fn cpu(&self) -> Option<&'static str> {
        match self.machine {
            0x8664 => Some("x86_64"),
            0xaa64 => Some("aarch64"),
            0x014c => Some("i686"),
            _ => None,
        }
    }

    /// Returns the version of a sub-library from its version symbol, or else from its version resource.
    pub fn release(&self, sub_library: &str) -> Option<SourcedVersion> {
        let by_symbol = || {
            let symbol = sub_libraries::find(sub_library)?.version_symbol?;
            let bytes = self.read_at(self.export(symbol.as_bytes())??, 4)?;
            Some((Version::from_symbol(&bytes)?, VersionSource::Symbol(symbol)))
        };
        by_symbol().or_else(|| {
            let [major, minor, patch, _] = self.file_numbers()?;
            let version = Version::new(major, minor, patch);
            Some((version, VersionSource::VersionResource))
        })
    }

    /// Reads `size` bytes of the file, if it has that many.
    pub fn bytes(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        self.file.read(offset, size)
    }

    /// Returns the offset and the size of the section of this name. Names have at most eight letters.
    pub fn section(&self, name: &str) -> Option<(u64, u64)> {
        let section = self.sections.iter().find(|section| {
            // Zeros fill a shorter name.
            let rest = section.name.strip_prefix(name.as_bytes());
            rest.is_some_and(|rest| rest.first().unwrap_or(&0) == &0)
        })?;
        Some((section.offset.into(), section.size.into()))
    }

    /// Returns the DLLs that Windows loads together with it.
    pub fn needs(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (name, _) in self.imported() {
            names.push(name);
        }
        names
    }

    /// Returns the DLLs that are loaded on the first call of one of their functions. Linkers before Visual C++ 7 wrote
    /// addresses for 32 bits, which are skipped.
    pub fn delays(&self) -> Vec<String> {
        let entry = |index: u32| {
            let entry = self.read_at(self.delayed.checked_add(index * 32)?, 32)?;
            let by_place = number(&entry, 0, 4)? & 1 == 1;
            self.import_name(number(&entry, 4, 4).filter(|_| by_place)?)
        };
        let names = (0..MOST_IMPORTS).map_while(entry);
        names.filter(|_| self.delayed != 0).collect()
    }

    /// Returns the imports by name: the DLL's file name and the function.
    pub fn named_imports(&self) -> Vec<(String, Vec<u8>)> {
        let (mut imports, mut letters, mut left) = (Vec::new(), MOST_LETTERS, MOST_NAMES);
        for (name, table) in self.imported() {
            for index in 0..MOST_NAMES {
                let entry = table.checked_add(index * 8);
                let Some(entry) = entry.and_then(|place| self.read_at(place, 8)) else {
                    break;
                };
                let function = match (number(&entry, 0, 4), number(&entry, 4, 4)) {
                    (Some(0), Some(0)) => break,
                    // The name follows a hint of two bytes.
                    (Some(hint), Some(0)) => hint.checked_add(2).and_then(|place| self.text(place)),
                    // An import by ordinal.
                    _ => None,
                };
                let length = name.len() + function.as_ref().map_or(0, Vec::len);
                match (left.checked_sub(1), letters.checked_sub(length)) {
                    (Some(names), Some(rest)) => (left, letters) = (names, rest),
                    _ => return imports,
                }
                if let Some(function) = function {
                    imports.push((name.clone(), function));
                }
            }
        }
        imports
    }

    /// Returns the required functions that it does not export; empty if that is unknown.
    pub fn missing_symbols<'s>(&self, required: impl Iterator<Item = &'s [u8]>) -> Vec<String> {
        let mut missing = Vec::new();
        for name in required {
            if self.export(name) == Some(None) {
                missing.push(lossy(name.to_vec()));
            }
        }
        missing
    }

    /// Returns the DLLs of its import table, each with the address of the list of functions.
    fn imported(&self) -> Vec<(String, u32)> {
        let entry = |index: u32| {
            let entry = self.read_at(self.imports.checked_add(index * 20)?, 20)?;
            let name = self.import_name(number(&entry, 12, 4)?)?;
            Some((name, number(&entry, 0, 4)?))
        };
        let tables = (0..MOST_IMPORTS).map_while(entry);
        tables.filter(|_| self.imports != 0).collect()
    }

    /// Reads the name of an imported DLL; `None` at the end of a table.
    fn import_name(&self, address: u32) -> Option<String> {
        if address == 0 {
            return None;
        }
        String::from_utf8(self.text(address)?).ok()
    }

    /// Reads a string up to its NUL.
    fn text(&self, address: u32) -> Option<Vec<u8>> {
        let (offset, left) = self.file_range(address)?;
        self.file.text(offset, left)
    }

    /// Returns the offset of an address in the file, and the number of bytes from there to the end of its section.
    fn file_range(&self, address: u32) -> Option<(u64, u64)> {
        self.sections.iter().find_map(|section| {
            let inside = address.checked_sub(section.address)?;
            let left = section.size.checked_sub(inside).filter(|left| *left > 0)?;
            Some((u64::from(section.offset) + u64::from(inside), left.into()))
        })
    }

    /// Reads bytes of a section at an address.
    fn read_at(&self, address: u32, size: u32) -> Option<Vec<u8>> {
        let (offset, left) = self.file_range(address)?;
        if u64::from(size) > left {
            return None;
        }
        self.file.entry(offset, size.into())
    }

    /// Returns the address of the export of this name, if it exists; `None` if that is unknown. The names are sorted.
    fn export(&self, name: &[u8]) -> Option<Option<u32>> {
        if self.exports == 0 {
            return None;
        }
        let table = self.read_at(self.exports, 40)?;
        let field = |at| number(&table, at, 4);
        let (functions, names, ordinals) = (field(28)?, field(32)?, field(36)?);
        let mut name = name.to_vec();
        name.push(0);
        let (mut low, mut high) = (0, field(24)?);
        while low < high {
            let middle = low + (high - low) / 2;
            let pointer = self.entry(names, middle, 4)?;
            let (offset, left) = self.file_range(pointer)?;
            let found = self.file.entry(offset, left.min(name.len() as u64))?;
            match found.cmp(&name) {
                std::cmp::Ordering::Equal => {
                    let index = self.entry(ordinals, middle, 2)?;
                    return self.entry(functions, index, 4).map(Some);
                }
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Some(None)
    }

    fn entry(&self, table: u32, index: u32, size: u32) -> Option<u32> {
        let address = index.checked_mul(size)?.checked_add(table)?;
        number(&self.read_at(address, size)?, 0, size as usize)
    }

    /// Returns the numbers of its version resource, in the first language.
    pub fn file_numbers(&self) -> Option<[u32; 4]> {
        let mut place = self.resource_entry(0, Some(VERSION))?;
        for _ in 0..2 {
            place = self.resource_entry(place.checked_sub(1 << 31)?, None)?;
        }
        let leaf = self.read_at(self.resources.checked_add(place)?, 8)?;
        let size = number(&leaf, 4, 4)?.min(1 << 16);
        let data = self.read_at(number(&leaf, 0, 4)?, size)?;
        let mut fixed = 0;
        while number(&data, fixed, 4)? != FIXED {
            fixed += 4;
        }
        let (high, low) = (number(&data, fixed + 8, 4)?, number(&data, fixed + 12, 4)?);
        Some([high >> 16, high & 0xffff, low >> 16, low & 0xffff])
    }

    /// Returns the entry of a resource directory with this id, or its first one: an offset, with the highest bit set
    /// for another directory.
    fn resource_entry(&self, directory: u32, id: Option<u32>) -> Option<u32> {
        let start = self.resources.checked_add(directory)?;
        let head = self.read_at(start, 16)?;
        let count = number(&head, 12, 2)? + number(&head, 14, 2)?;
        for index in 0..count {
            let entry = self.read_at(start.checked_add(16 + index * 8)?, 8)?;
            if id.is_none_or(|id| number(&entry, 0, 4) == Some(id)) {
                return number(&entry, 4, 4);
            }
        }
        None
    }
}

/// Reads a little-endian number of up to four bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u32> {
    u32::try_from(crate::runtime::binary::number(bytes, at, size)?).ok()
}
