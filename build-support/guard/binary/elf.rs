//! What a library file says of itself, read with bounds checks and without running any of it. Only what is needed
//! is read: these files are hundreds of megabytes.

use crate::runtime::facts::version::Version;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
/// A segment that is only read.
const PF_R: u64 = 4;
/// More constants than a program has that is not made of data.
const MOST_CONSTANTS: u64 = 64 << 20;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_SONAME: u64 = 14;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
/// The CPU that this program was compiled for; none where the guard has no name for it.
const MACHINE: Option<u64> = if cfg!(target_arch = "x86_64") {
    Some(62)
} else if cfg!(target_arch = "aarch64") {
    Some(183)
} else {
    None
};

/// Why a file cannot be a library of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The system's words.
    Unreadable(String),
    /// It is something else, or nothing is left of it.
    NotElf,
    /// It is for another CPU.
    Machine(u64),
    /// It is for 32-bit programs, or for the other byte order.
    Class,
    /// Its segments reach to the first number, and it ends at the second: opening it ends in SIGBUS.
    CutOff(u64, u64),
    /// Its tables contradict themselves.
    Garbled,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unreadable(words) => write!(f, "cannot be read: {}", words),
            Fault::NotElf => f.write_str("is not an ELF library"),
            Fault::Machine(number) => write!(
                f,
                "is for {}, and this program is for {}",
                machine_name(*number),
                std::env::consts::ARCH
            ),
            Fault::Class => write!(
                f,
                "is for programs of another word size or byte order than {}",
                std::env::consts::ARCH
            ),
            Fault::CutOff(wanted, found) => write!(
                f,
                "is cut off: it ends at byte {}, and its segments reach to {}",
                found, wanted
            ),
            Fault::Garbled => f.write_str("has ELF tables that contradict themselves"),
        }
    }
}

fn machine_name(number: u64) -> String {
    match number {
        3 => "x86".to_string(),
        21 => "powerpc64".to_string(),
        40 => "arm".to_string(),
        62 => "x86_64".to_string(),
        183 => "aarch64".to_string(),
        243 => "riscv64".to_string(),
        other => format!("the CPU with ELF number {}", other),
    }
}

struct Segment {
    kind: u64,
    flags: u64,
    offset: u64,
    address: u64,
    size: u64,
}

/// A 64-bit ELF library, open for reading.
pub struct Elf {
    file: File,
    segments: Vec<Segment>,
    dynamic: Vec<(u64, u64)>,
}

impl Elf {
    /// Opens a file and sees whether this process could map it.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        let unreadable = |error: std::io::Error| Fault::Unreadable(error.to_string());
        let mut file = File::open(path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        let header = read_at(&mut file, 0, 64).ok_or(Fault::NotElf)?;
        if !header.starts_with(b"\x7fELF") {
            return Err(Fault::NotElf);
        }
        if header.get(4..6) != Some(&[2, 1]) {
            return Err(Fault::Class);
        }
        let field = |at: usize, size: usize| number(&header, at, size).ok_or(Fault::Garbled);
        let machine = field(18, 2)?;
        if MACHINE.is_some_and(|own| own != machine) {
            return Err(Fault::Machine(machine));
        }
        let (start, entry, count) = (field(32, 8)?, field(54, 2)?, field(56, 2)?);
        let end = entry.saturating_mul(count).saturating_add(start);
        if end > length {
            return Err(Fault::CutOff(end, length));
        }
        let mut elf = Self {
            file,
            segments: Vec::new(),
            dynamic: Vec::new(),
        };
        let mut reach = 0;
        for index in 0..count {
            let bytes = elf.read(start.saturating_add(index.saturating_mul(entry)), 56);
            let segment = bytes.as_deref().and_then(segment).ok_or(Fault::Garbled)?;
            if segment.kind == PT_LOAD || segment.kind == PT_DYNAMIC {
                reach = segment.offset.saturating_add(segment.size).max(reach);
                elf.segments.push(segment);
            }
        }
        if reach > length {
            return Err(Fault::CutOff(reach, length));
        }
        elf.dynamic = elf.read_dynamic().ok_or(Fault::Garbled)?;
        Ok(elf)
    }

    /// The name under which the loader knows it.
    pub fn soname(&mut self) -> Option<String> {
        self.tagged_string(DT_SONAME)
    }

    /// Its DT_RPATH, which wins over LD_LIBRARY_PATH; a DT_RUNPATH does not.
    pub fn rpath(&mut self) -> Option<String> {
        self.tagged_string(DT_RPATH)
    }

    /// The folders in which it wants the libraries that it needs or opens: DT_RPATH or DT_RUNPATH, with `$ORIGIN`
    /// filled in for a file at this path.
    pub fn folders(&mut self, path: &Path) -> Vec<PathBuf> {
        let list = self
            .tagged_string(DT_RUNPATH)
            .or_else(|| self.rpath())
            .unwrap_or_default();
        let origin = path.parent().unwrap_or(path).to_string_lossy().into_owned();
        let entries = list.split(':').filter(|entry| !entry.is_empty());
        entries
            .map(|entry| {
                let entry = entry.replace("${ORIGIN}", &origin);
                PathBuf::from(entry.replace("$ORIGIN", &origin))
            })
            .collect()
    }

    /// The release in a data symbol of cuDNN: four bytes, patch, minor, major, 0.
    pub fn version(&mut self, symbol: &str) -> Option<Version> {
        let address = self.address_of(symbol)?;
        let offset = self.offset_of(address)?;
        match *self.read(offset, 4)?.as_slice() {
            [patch, minor, major, 0] if major > 0 => Some(Version::new(
                u32::from(major),
                u32::from(minor),
                u32::from(patch),
            )),
            _ => None,
        }
    }

    /// Whether it has this function itself.
    pub fn defines(&mut self, symbol: &str) -> bool {
        self.address_of(symbol).is_some()
    }

    /// What it only reads.
    pub fn constants(&mut self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let constant = |segment: &&Segment| segment.kind == PT_LOAD && segment.flags == PF_R;
        for segment in self.segments.iter().filter(constant) {
            if segment.size > MOST_CONSTANTS {
                return None;
            }
            self.file.seek(SeekFrom::Start(segment.offset)).ok()?;
            let mut part = (&mut self.file).take(segment.size);
            part.read_to_end(&mut bytes).ok()?;
        }
        Some(bytes)
    }

    fn read_dynamic(&mut self) -> Option<Vec<(u64, u64)>> {
        let (offset, size) = self
            .segments
            .iter()
            .find(|segment| segment.kind == PT_DYNAMIC)
            .map(|segment| (segment.offset, segment.size))?;
        let bytes = self.read(offset, size.min(1 << 16))?;
        let entries = bytes
            .chunks_exact(16)
            .map(|entry| Some((number(entry, 0, 8)?, number(entry, 8, 8)?)));
        entries
            .take_while(|entry| entry.is_none_or(|(tag, _)| tag != 0))
            .collect()
    }

    fn tagged(&self, tag: u64) -> Option<u64> {
        self.dynamic
            .iter()
            .find(|entry| entry.0 == tag)
            .map(|entry| entry.1)
    }

    fn tagged_string(&mut self, tag: u64) -> Option<String> {
        let address = self.tagged(DT_STRTAB)?.checked_add(self.tagged(tag)?)?;
        self.string(address)
    }

    /// A string at an address, up to its NUL; none over 4096 bytes.
    fn string(&mut self, address: u64) -> Option<String> {
        let offset = self.offset_of(address)?;
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(offset)).ok()?;
        (&mut self.file).take(4096).read_to_end(&mut bytes).ok()?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(bytes.get(..end)?).into_owned())
    }

    fn address_of(&mut self, symbol: &str) -> Option<u64> {
        if let Some(table) = self.tagged(DT_GNU_HASH) {
            return self.by_gnu_hash(table, symbol);
        }
        let table = self.tagged(DT_HASH)?;
        self.by_hash(table, symbol)
    }

    /// <https://sourceware.org/legacy-ml/binutils/2006-10/msg00377.html>
    fn by_gnu_hash(&mut self, table: u64, symbol: &str) -> Option<u64> {
        let hash = symbol.bytes().fold(5381_u32, |hash, byte| {
            hash.wrapping_mul(33).wrapping_add(u32::from(byte))
        });
        let head = self.words(table, 4)?;
        let (buckets, first, filter) = (*head.first()?, *head.get(1)?, *head.get(2)?);
        let bucket_at = table
            .checked_add(16)?
            .checked_add(u64::from(filter).checked_mul(8)?)?;
        let bucket = hash.checked_rem(buckets)?;
        let mut index = *self
            .words(bucket_at.checked_add(u64::from(bucket) * 4)?, 1)?
            .first()?;
        let chain_at = bucket_at.checked_add(u64::from(buckets) * 4)?;
        // Longer chains are not made by any linker.
        for _ in 0..4096 {
            let link = u64::from(index.checked_sub(first)?) * 4;
            let value = *self.words(chain_at.checked_add(link)?, 1)?.first()?;
            if value | 1 == hash | 1 {
                if let Some(address) = self.defined(index, symbol) {
                    return Some(address);
                }
            }
            if value & 1 == 1 {
                return None;
            }
            index = index.checked_add(1)?;
        }
        None
    }

    /// System V generic ABI, chapter 5, "Hash Table".
    fn by_hash(&mut self, table: u64, symbol: &str) -> Option<u64> {
        let hash = symbol.bytes().fold(0_u32, |hash, byte| {
            let hash = (hash << 4).wrapping_add(u32::from(byte));
            let high = hash & 0xf000_0000;
            (hash ^ (high >> 24)) & !high
        });
        let buckets = *self.words(table, 2)?.first()?;
        let bucket = hash.checked_rem(buckets)?;
        let bucket_at = table.checked_add(8)?;
        let chain_at = bucket_at.checked_add(u64::from(buckets) * 4)?;
        let mut index = *self
            .words(bucket_at.checked_add(u64::from(bucket) * 4)?, 1)?
            .first()?;
        for _ in 0..4096 {
            if index == 0 {
                return None;
            }
            if let Some(address) = self.defined(index, symbol) {
                return Some(address);
            }
            index = *self
                .words(chain_at.checked_add(u64::from(index) * 4)?, 1)?
                .first()?;
        }
        None
    }

    /// The address of the symbol with this index, if it has this name and is not imported.
    fn defined(&mut self, index: u32, name: &str) -> Option<u64> {
        let at = self.tagged(DT_SYMTAB)?.checked_add(u64::from(index) * 24)?;
        let offset = self.offset_of(at)?;
        let entry = self.read(offset, 24)?;
        let string = self.tagged(DT_STRTAB)?.checked_add(number(&entry, 0, 4)?)?;
        if number(&entry, 6, 2)? == 0 || self.string(string)? != name {
            return None;
        }
        number(&entry, 8, 8)
    }

    fn words(&mut self, address: u64, count: u64) -> Option<Vec<u32>> {
        let offset = self.offset_of(address)?;
        let bytes = self.read(offset, count * 4)?;
        bytes
            .chunks_exact(4)
            .map(|word| {
                Some(u32::from_le_bytes([
                    *word.first()?,
                    *word.get(1)?,
                    *word.get(2)?,
                    *word.get(3)?,
                ]))
            })
            .collect()
    }

    fn offset_of(&self, address: u64) -> Option<u64> {
        let segment = self.segments.iter().find(|segment| {
            segment.kind == PT_LOAD
                && address >= segment.address
                && address - segment.address < segment.size
        })?;
        segment.offset.checked_add(address - segment.address)
    }

    fn read(&mut self, offset: u64, size: u64) -> Option<Vec<u8>> {
        read_at(&mut self.file, offset, size)
    }
}

fn segment(bytes: &[u8]) -> Option<Segment> {
    Some(Segment {
        kind: number(bytes, 0, 4)?,
        flags: number(bytes, 4, 4)?,
        offset: number(bytes, 8, 8)?,
        address: number(bytes, 16, 8)?,
        size: number(bytes, 32, 8)?,
    })
}

/// Exactly that many bytes; never more than a few at a time.
fn read_at(file: &mut File, offset: u64, size: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = Vec::new();
    file.take(size.min(1 << 20)).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 == size {
        Some(bytes)
    } else {
        None
    }
}

/// A little-endian number of up to eight bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(
        field
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)),
    )
}
