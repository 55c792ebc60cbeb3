//! What a DLL says of itself, on any system, without running it and without reading all of its 500 megabytes. The
//! format: <https://learn.microsoft.com/windows/win32/debug/pe-format>.

#[cfg(test)]
pub mod made;
#[cfg(test)]
mod tests;

use crate::model::file_defect::Flaw;
use crate::model::version::Version;
use crate::model::version_source::VersionSource;
use crate::system::files::read_at;
use std::fs::File;
use std::io::BufRead;
use std::path::Path;

/// More than any part has whose strings name cublasLt; `cudnn_heuristic64_9.dll` has 83 MB of tables.
const MOST_CONSTANTS: u32 = 8 << 20;

/// The type of a version resource, and the mark at the beginning of what it fixes.
const VERSION: u32 = 16;
const FIXED: u32 = 0xfeef_04bd;

/// No DLL of cuDNN takes from as many others, nor as many functions, and none has so long a name. Damaged tables end.
const MOST_IMPORTS: u32 = 128;
const MOST_NAMES: u32 = 1 << 14;
const LONGEST_NAME: u32 = 1 << 12;

/// A DLL, open for reading. Of what it is not or does not hold, it tells nothing.
pub struct Dll {
    file: File,
    length: u64,
    machine: u32,
    flaw: Option<Flaw>,
    sections: Vec<Section>,
    exports: u32,
    imports: u32,
    delayed: u32,
    resources: u32,
}

struct Section {
    name: [u8; 8],
    address: u32,
    offset: u32,
    /// Of what the file holds of it.
    size: u32,
}

impl Dll {
    /// Opens a file; none where that is not possible.
    pub fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let mut dll = Self {
            length: file.metadata().ok()?.len(),
            file,
            machine: 0,
            flaw: None,
            sections: Vec::new(),
            exports: 0,
            imports: 0,
            delayed: 0,
            resources: 0,
        };
        dll.flaw = dll.parse().err();
        if dll.flaw.is_some() {
            // One that was cut off tells nothing that could be relied on.
            dll.sections.clear();
        }
        Some(dll)
    }

    fn parse(&mut self) -> Result<(), Flaw> {
        if self.length == 0 {
            return Err(Flaw::Empty);
        }
        let foreign = |start: &[u8]| Flaw::foreign("a DLL", start);
        let start = read_at(&self.file, 0, self.length.min(64)).unwrap_or_default();
        if !start.starts_with(b"MZ") {
            return Err(foreign(&start));
        }
        let place = u64::from(number(&start, 0x3c, 4).ok_or(self.cut_off(64))?);
        let head = self.part(place, 24)?;
        if !head.starts_with(b"PE\0\0") {
            return Err(foreign(&[]));
        }
        self.machine = number(&head, 4, 2).unwrap_or_default();
        let count = number(&head, 6, 2).unwrap_or_default();
        let size = number(&head, 20, 2).unwrap_or_default();
        let rest = self.part(place + 24, u64::from(size + count * 40))?;
        // 64 bit alone: cuDNN has never been anything else.
        if number(&rest, 0, 2) != Some(0x20b) {
            return Ok(());
        }
        let section = |index: u32| {
            let entry = rest.get(usize::try_from(size + index * 40).ok()?..)?;
            Some(Section {
                name: entry.get(..8)?.try_into().ok()?,
                address: number(entry, 12, 4)?,
                size: number(entry, 16, 4)?,
                offset: number(entry, 20, 4)?,
            })
        };
        self.sections = (0..count).filter_map(section).collect();
        let ends = self.sections.iter();
        let ends = ends.map(|one| u64::from(one.offset) + u64::from(one.size));
        let reach = ends.max().unwrap_or_default();
        if reach > self.length {
            return Err(self.cut_off(reach));
        }
        let table = |at| number(&rest, at, 4).unwrap_or_default();
        (self.exports, self.imports, self.resources) = (table(112), table(120), table(128));
        // What is behind the end of the header is no table.
        self.delayed = if size < 224 { 0 } else { table(216) };
        Ok(())
    }

    fn part(&self, place: u64, size: u64) -> Result<Vec<u8>, Flaw> {
        read_at(&self.file, place, size).ok_or(self.cut_off(place + size))
    }

    fn cut_off(&self, reach: u64) -> Flaw {
        Flaw::CutOff("sections", reach, self.length)
    }

    /// Its size.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Why Windows cannot take it, processors aside.
    pub fn flaw(&self) -> Option<Flaw> {
        self.flaw.clone()
    }

    /// The processor that it is for, as target triples call it.
    pub fn cpu(&self) -> Option<&'static str> {
        match self.machine {
            0x8664 => Some("x86_64"),
            0xaa64 => Some("aarch64"),
            0x014c => Some("i686"),
            _ => None,
        }
    }

    /// The release of a part and what told it: its version symbol, as in the libraries for Linux, else the version
    /// that its resources give. Not every part has one.
    pub fn release(&self, part: &str) -> Option<(Version, VersionSource)> {
        for symbol in [
            format!("cudnn_{part}_version"),
            format!("cudnn_{part}_infer_version"),
        ] {
            let place = self.export(symbol.as_bytes()).flatten();
            let bytes = place.and_then(|place| self.read(place, 4));
            if let Some(&[patch, minor, major, 0]) = bytes.as_deref() {
                let version = Version::new(major.into(), minor.into(), patch.into());
                return Some((version, VersionSource::Symbol(symbol)));
            }
        }
        Some((self.file_version()?, VersionSource::VersionResource))
    }

    /// The CUDA major that a part was built for: it opens `cublasLt64_N.dll` by that name.
    pub fn cuda_major(&self) -> Option<u32> {
        let text = self.constants()?;
        let mut rest = text.as_slice();
        // `skip_until` comes compiled with optimisation; a loop over bytes in a build script does not.
        while rest.skip_until(b'L').is_ok_and(|skipped| skipped > 0) && !rest.is_empty() {
            let before = text.get(..text.len() - rest.len())?;
            if let (true, Some(tail)) = (before.ends_with(b"cublasL"), rest.strip_prefix(b"t64_")) {
                let digits = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let number = std::str::from_utf8(tail.get(..digits)?).ok();
                if let Some(major) = number.and_then(|digits| digits.parse().ok()) {
                    return Some(major);
                }
            }
        }
        None
    }

    /// What the file holds of the section of this name.
    #[cfg(feature = "cli")]
    pub fn section(&self, name: &str) -> Option<Vec<u8>> {
        let is_it =
            |one: &&Section| one.name.split(|byte| *byte == 0).next() == Some(name.as_bytes());
        let section = self.sections.iter().find(is_it)?;
        read_at(
            &self.file,
            section.offset.into(),
            section.size.min(1 << 20).into(),
        )
    }

    /// Where its device code is in the file, and the size of that: 0 if it has none. Names of sections are cut short.
    pub fn device_code(&self) -> Option<(u64, u64)> {
        let mut sections = self.sections.iter();
        let section = sections.find(|section| &section.name == b".nv_fatb");
        let place = section.map_or((0, 0), |one| (one.offset.into(), one.size.into()));
        self.flaw.is_none().then_some(place)
    }

    /// The other DLLs without which Windows does not load it.
    pub fn needs(&self) -> Vec<String> {
        let tables = self.imported().into_iter();
        tables.map(|(name, _)| name).collect()
    }

    /// The DLLs that are loaded when something of them is first called. Linkers before Visual C++ 7 wrote addresses that
    /// hold for 32 bits alone.
    #[cfg_attr(not(feature = "cli"), allow(dead_code))] // a build asks for what is loaded at once
    pub fn delays(&self) -> Vec<String> {
        let entry = |index: u32| {
            let entry = self.read(self.delayed.checked_add(index * 32)?, 32)?;
            let name = number(&entry, 4, 4).filter(|name| *name != 0)?;
            let by_place = number(&entry, 0, 4)? & 1 == 1;
            String::from_utf8(self.text(name).filter(|_| by_place)?).ok()
        };
        let names = (0..MOST_IMPORTS).map_while(entry);
        names.filter(|_| self.delayed != 0).collect()
    }

    /// What it takes from other DLLs by name: the DLL's file name and the function.
    pub fn wants(&self) -> Vec<(String, Vec<u8>)> {
        let mut wanted = Vec::new();
        for (name, table) in self.imported() {
            for index in 0..MOST_NAMES {
                let entry = table.checked_add(index * 8);
                let Some(entry) = entry.and_then(|place| self.read(place, 8)) else {
                    break;
                };
                match (number(&entry, 0, 4), number(&entry, 4, 4)) {
                    (Some(0), Some(0)) => break,
                    // The name stands behind a hint where to look for it.
                    (Some(hint), Some(0)) => {
                        let function = hint.checked_add(2).and_then(|place| self.text(place));
                        wanted.extend(function.map(|function| (name.clone(), function)));
                    }
                    // By number: nothing to compare.
                    _ => {}
                }
            }
        }
        wanted
    }

    /// Those of the functions that it does not export. None are lacking from a DLL that does not tell.
    pub fn lacks<'s>(&self, wanted: impl Iterator<Item = &'s [u8]>) -> Vec<String> {
        wanted
            .filter(|name| self.export(name) == Some(None))
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect()
    }

    /// Each DLL of its import table, with the place of the list of what it takes from there.
    fn imported(&self) -> Vec<(String, u32)> {
        let entry = |index: u32| {
            let entry = self.read(self.imports.checked_add(index * 20)?, 20)?;
            let name = number(&entry, 12, 4).filter(|name| *name != 0)?;
            let name = String::from_utf8(self.text(name)?).ok()?;
            Some((name, number(&entry, 0, 4)?))
        };
        let tables = (0..MOST_IMPORTS).map_while(entry);
        tables.filter(|_| self.imports != 0).collect()
    }

    /// A text that a zero ends.
    fn text(&self, address: u32) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for start in (0..LONGEST_NAME).step_by(64) {
            let place = address.checked_add(start)?;
            let left = self.left(place)?.min(64);
            let some = self.read(place, left)?;
            let end = some.iter().position(|byte| *byte == 0);
            text.extend(some.get(..end.unwrap_or(some.len()))?);
            if end.is_some() {
                return Some(text);
            }
        }
        None
    }

    /// How much of its section there is from an address on.
    fn left(&self, address: u32) -> Option<u32> {
        self.sections.iter().find_map(|section| {
            let inside = address.checked_sub(section.address)?;
            section.size.checked_sub(inside).filter(|left| *left > 0)
        })
    }

    /// Bytes at an address, of one section.
    fn read(&self, address: u32, size: u32) -> Option<Vec<u8>> {
        let section = self.sections.iter().find(|section| {
            address
                .checked_sub(section.address)
                .and_then(|inside| section.size.checked_sub(inside))
                .is_some_and(|left| left >= size)
        })?;
        let offset = u64::from(section.offset) + u64::from(address - section.address);
        read_at(&self.file, offset, size.into())
    }

    /// The address of what it exports under this name, if anything; none where that cannot be told. Names stand in the
    /// order of the alphabet.
    fn export(&self, name: &[u8]) -> Option<Option<u32>> {
        let table = self.read(self.exports, 40).filter(|_| self.exports != 0)?;
        let field = |at| number(&table, at, 4);
        let (functions, names, ordinals) = (field(28)?, field(32)?, field(36)?);
        let wanted = [name, &[0]].concat();
        let length = u32::try_from(wanted.len()).ok()?;
        let (mut low, mut high) = (0, field(24)?);
        while low < high {
            let middle = low + (high - low) / 2;
            let pointer = self.entry(names, middle, 4)?;
            let found = self.read(pointer, length.min(self.left(pointer)?))?;
            match found.cmp(&wanted) {
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
        number(&self.read(address, size)?, 0, size as usize)
    }

    /// The first three numbers of its version resource, in the first language.
    fn file_version(&self) -> Option<Version> {
        let mut place = self.child(0, Some(VERSION))?;
        for _ in 0..2 {
            place = self.child(place.checked_sub(1 << 31)?, None)?;
        }
        let leaf = self.read(self.resources.checked_add(place)?, 8)?;
        let size = number(&leaf, 4, 4)?.min(1 << 16);
        let data = self.read(number(&leaf, 0, 4)?, size)?;
        let fixed = data
            .chunks_exact(4)
            .position(|word| number(word, 0, 4) == Some(FIXED))?;
        let (high, low) = (
            number(&data, fixed * 4 + 8, 4)?,
            number(&data, fixed * 4 + 12, 4)?,
        );
        Some(Version::new(high >> 16, high & 0xffff, low >> 16))
    }

    /// What a directory of resources has under an id, or first: a place below it, with the highest bit set for another
    /// directory.
    fn child(&self, directory: u32, id: Option<u32>) -> Option<u32> {
        let start = self.resources.checked_add(directory)?;
        let head = self.read(start, 16)?;
        let count = number(&head, 12, 2)? + number(&head, 14, 2)?;
        for index in 0..count {
            let entry = self.read(start.checked_add(16 + index * 8)?, 8)?;
            if id.is_none_or(|id| number(&entry, 0, 4) == Some(id)) {
                return number(&entry, 4, 4);
            }
        }
        None
    }

    /// The section of constants.
    fn constants(&self) -> Option<Vec<u8>> {
        let section = self
            .sections
            .iter()
            .find(|section| &section.name == b".rdata\0\0")?;
        if section.size > MOST_CONSTANTS {
            return None;
        }
        read_at(&self.file, section.offset.into(), section.size.into())
    }
}

/// A number of up to four bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u32> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(
        field
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u32::from(*byte)),
    )
}
