//! ELF files, read without running any of their code. Like the loader, this module reads the segments and the dynamic
//! table. The format: <https://refspecs.linuxfoundation.org/elf/>.

use crate::runtime::binary::bounded_file::BoundedFile;
use crate::runtime::binary::defect::{Defect, cpu_name};
use std::path::Path;

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
/// The flags of a read-only segment, and of a segment that is also executable.
const PF_R: u64 = 4;
const PF_R_X: u64 = 5;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_STRSZ: u64 = 10;
const DT_SONAME: u64 = 14;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
const DF_1_NODEFLIB: u64 = 0x800;
/// The size of the header of a 64-bit file. No library is shorter.
const HEAD: u64 = 64;
/// Limits above the number of segments and the length of the dynamic table that linkers write, low enough for a fast
/// search.
const MOST_SEGMENTS: usize = 64;
const LONGEST_DYNAMIC: u64 = 1 << 16;
/// The smallest page of a supported CPU. The loader maps pages.
const PAGE: u64 = 4096;

/// The size and the byte order of the numbers in a file.
#[derive(Clone, Copy)]
pub struct Layout {
    is_wide: bool,
    is_big: bool,
}

impl Layout {
    fn from_ident(head: &[u8]) -> Option<Self> {
        if head.len() as u64 != HEAD {
            return None;
        }
        match head.strip_prefix(b"\x7fELF")? {
            [class @ (1 | 2), order @ (1 | 2), 1, ..] => Some(Self {
                is_wide: *class == 2,
                is_big: *order == 2,
            }),
            _ => None,
        }
    }

    /// Reads a number of up to eight bytes.
    pub fn number(self, bytes: &[u8], at: usize, size: usize) -> Option<u64> {
        let field = bytes.get(at..at.checked_add(size)?)?;
        let mut value = 0;
        for index in 0..size {
            let index = if self.is_big { index } else { size - 1 - index };
            value = value << 8 | u64::from(*field.get(index)?);
        }
        Some(value)
    }

    /// Returns the value for 32-bit files or the value for 64-bit files.
    pub fn either<T>(self, narrow: T, wide: T) -> T {
        if self.is_wide { wide } else { narrow }
    }

    /// Reads an address, an offset or a size, which is at the first offset in 32-bit files and at the second in 64-bit
    /// files.
    pub fn address(self, bytes: &[u8], narrow: usize, wide: usize) -> Option<u64> {
        self.number(bytes, self.either(narrow, wide), self.either(4, 8))
    }
}

struct Segment {
    kind: u64,
    flags: u64,
    offset: u64,
    address: u64,
    size: u64,
}

/// An open file. If it is not an ELF file, the methods about its contents return nothing.
pub struct Elf {
    pub(super) file: BoundedFile,
    /// The first 64 bytes, or the whole file if it is shorter.
    pub(super) start: Vec<u8>,
    pub(super) layout: Option<Layout>,
    /// The end of the table of segments, or of the last segment with a page that is not in the file.
    reach: u64,
    segments: Option<Vec<Segment>>,
    /// Tags and values.
    dynamic: Option<Vec<(u64, u64)>>,
}

impl Elf {
    /// Opens a file of any kind.
    pub fn read(path: &Path) -> Result<Self, Defect> {
        if let Some(defect) = Defect::in_the_way(path) {
            return Err(defect);
        }
        let file = BoundedFile::open(path).map_err(|error| Defect::unopened(&error))?;
        let start = file.read(0, file.length().min(HEAD)).unwrap_or_default();
        let mut elf = Self {
            layout: Layout::from_ident(&start),
            file,
            start,
            reach: 0,
            segments: None,
            dynamic: None,
        };
        elf.segments = elf.read_segments();
        elf.dynamic = elf.read_dynamic();
        match elf.file.failure() {
            Some(failure) => Err(failure),
            None => Ok(elf),
        }
    }

    /// Opens a file and checks that this process could map it.
    pub fn open(path: &Path) -> Result<Self, Defect> {
        Self::open_for(path, std::env::consts::ARCH, true)
    }

    /// Opens a file and checks that a program for this CPU could map it. `is_usual` stands for a 64-bit, little-endian
    /// program.
    pub fn open_for(path: &Path, cpu: &str, is_usual: bool) -> Result<Self, Defect> {
        let elf = Self::read(path)?;
        if !elf.is_elf() || elf.length() < HEAD {
            return Err(elf.defect().unwrap_or(not_elf(&[])));
        }
        if elf.is_64_bit_le() != Some(is_usual) {
            return Err(Defect::Class(cpu.into()));
        }
        let machine = elf.machine().ok_or(Defect::Garbled)?;
        if matches!(cpu, "x86_64" | "aarch64") && cpu_name(machine) != Some(cpu) {
            return Err(Defect::Machine(machine, cpu.into()));
        }
        match elf.defect() {
            Some(defect) => Err(defect),
            None if elf.dynamic_value(DT_STRTAB).is_none() => Err(Defect::Garbled),
            None => Ok(elf),
        }
    }

    /// Returns `self`. On Windows, `Image` is `Pe`, which returns `None`.
    pub fn as_elf(&self) -> Option<&Self> {
        Some(self)
    }

    /// Returns the reason why no linker or loader can use the file, apart from its CPU.
    pub fn defect(&self) -> Option<Defect> {
        let length = self.length();
        if length == 0 {
            return Some(Defect::Empty);
        }
        if !self.is_elf() {
            return Some(not_elf(&self.start));
        }
        let reach = self.reach.max(HEAD);
        (reach > length).then_some(Defect::Truncated("segments", reach, length))
    }

    pub fn length(&self) -> u64 {
        self.file.length()
    }

    /// Returns the ELF number of its CPU.
    pub fn machine(&self) -> Option<u64> {
        self.layout?.number(&self.start, 18, 2)
    }

    /// Returns the name of its CPU in target triples, if it is little-endian.
    pub fn cpu(&self) -> Option<&'static str> {
        if self.layout?.is_big {
            return None;
        }
        cpu_name(self.machine()?)
    }

    /// Returns the file names of the libraries that it is linked to.
    pub fn needed(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (tag, at) in self.entries() {
            if *tag == DT_NEEDED {
                names.extend(self.name(*at).map(lossy));
            }
        }
        names
    }

    pub fn soname(&self) -> Option<String> {
        self.dynamic_string(DT_SONAME)
    }

    /// Reads `size` bytes of the file, if it has that many.
    pub fn bytes(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        self.file.read(offset, size)
    }

    fn is_elf(&self) -> bool {
        self.start.starts_with(b"\x7fELF")
    }

    fn read_segments(&mut self) -> Option<Vec<Segment>> {
        let layout = self.layout?;
        let start = layout.address(&self.start, 28, 32)?;
        let row = layout.number(&self.start, layout.either(42, 54), 2)?;
        let count = layout.number(&self.start, layout.either(44, 56), 2)?;
        self.reach = start.saturating_add(row * count);
        let size = layout.either(32, 56);
        let rows = self.rows(start, row, count, size)?;
        let mut segments = Vec::new();
        for row in rows.chunks_exact(size) {
            let mut segment = Segment {
                kind: layout.number(row, 0, 4)?,
                flags: layout.number(row, layout.either(24, 4), 4)?,
                offset: layout.address(row, 4, 8)?,
                address: layout.address(row, 8, 16)?,
                size: layout.address(row, 16, 32)?,
            };
            let end = segment.offset.saturating_add(segment.size);
            let left = self.length().saturating_sub(segment.offset);
            // The kernel fills the rest of the last page with zeros.
            let pages = self.length().next_multiple_of(PAGE);
            let most = if left > 0 { pages } else { segment.offset };
            if matches!(segment.kind, PT_LOAD | PT_DYNAMIC) && end > most {
                self.reach = self.reach.max(end);
            }
            segment.size = segment.size.min(left);
            if matches!(segment.kind, PT_LOAD | PT_DYNAMIC | PT_INTERP) {
                segments.push(segment);
            }
        }
        segments.truncate(MOST_SEGMENTS);
        Some(segments)
    }

    /// Reads the rows of a table, if they have the right size.
    pub fn rows(&self, place: u64, row: u64, count: u64, size: usize) -> Option<Vec<u8>> {
        let size = size as u64;
        if count > 0 && (place == 0 || row != size) {
            return None;
        }
        self.file.read(place, size.checked_mul(count)?)
    }

    fn read_dynamic(&self) -> Option<Vec<(u64, u64)>> {
        let layout = self.layout.filter(|_| self.reach <= self.length())?;
        let segment = self.segment(PT_DYNAMIC)?;
        let bytes = self
            .file
            .read(segment.offset, segment.size.min(LONGEST_DYNAMIC))?;
        let mut entries = Vec::new();
        for entry in bytes.chunks_exact(layout.either(8, 16)) {
            match layout.address(entry, 0, 0)? {
                0 => break,
                tag => entries.push((tag, layout.address(entry, 4, 8)?)),
            }
        }
        Some(entries)
    }

    fn segment(&self, kind: u64) -> Option<&Segment> {
        self.segments().iter().find(|segment| segment.kind == kind)
    }

    fn segments(&self) -> &[Segment] {
        self.segments.as_deref().unwrap_or_default()
    }

    fn entries(&self) -> &[(u64, u64)] {
        self.dynamic.as_deref().unwrap_or_default()
    }

    pub fn dynamic_value(&self, tag: u64) -> Option<u64> {
        let entry = self.entries().iter().find(|entry| entry.0 == tag)?;
        Some(entry.1)
    }

    fn dynamic_string(&self, tag: u64) -> Option<String> {
        self.name(self.dynamic_value(tag)?).map(lossy)
    }

    /// Reads the name at this offset of the string table.
    pub fn name(&self, at: u64) -> Option<Vec<u8>> {
        self.name_within(at, u64::MAX)
    }

    /// Returns `true` if this name is at this offset of the string table.
    pub fn is_name(&self, at: u64, name: &[u8]) -> bool {
        let found = self.name_within(at, name.len() as u64 + 1);
        found.as_deref() == Some(name)
    }

    fn name_within(&self, at: u64, most: u64) -> Option<Vec<u8>> {
        let size = self.dynamic_value(DT_STRSZ).unwrap_or(u64::MAX);
        let left = size.checked_sub(at)?;
        let address = self.dynamic_value(DT_STRTAB)?.checked_add(at)?;
        self.file.text(self.offset_of(address)?, left.min(most))
    }

    pub fn entry(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        self.file.entry(self.offset_of(address)?, size)
    }

    fn offset_of(&self, address: u64) -> Option<u64> {
        let mut segments = self.segments().iter();
        let (segment, inside) = segments.find_map(|segment| {
            let inside = address.checked_sub(segment.address)?;
            (segment.kind == PT_LOAD && inside < segment.size).then_some((segment, inside))
        })?;
        segment.offset.checked_add(inside)
    }

    /// Returns `true` if it is a 64-bit, little-endian file; `None` if it is not an ELF file.
    pub fn is_64_bit_le(&self) -> Option<bool> {
        let layout = self.layout?;
        Some(layout.is_wide && !layout.is_big)
    }

    /// Returns the path of its loader.
    pub fn interpreter(&self) -> Option<String> {
        let segment = self.segment(PT_INTERP)?;
        self.file.text(segment.offset, segment.size).map(lossy)
    }

    /// Returns its DT_RPATH, which is searched before LD_LIBRARY_PATH. A DT_RUNPATH disables it.
    pub fn rpath(&self) -> Option<String> {
        match self.dynamic_value(DT_RUNPATH) {
            Some(_) => None,
            None => self.dynamic_string(DT_RPATH),
        }
    }

    pub fn runpath(&self) -> Option<String> {
        self.dynamic_string(DT_RUNPATH)
    }

    /// Returns `true` if it has DF_1_NODEFLIB: the loader does not search the system's directories for its
    /// dependencies.
    pub fn is_nodeflib(&self) -> bool {
        self.dynamic_value(DT_FLAGS_1)
            .is_some_and(|flags| flags & DF_1_NODEFLIB != 0)
    }

    /// Returns the read-only data, if it is no larger than `most` bytes. Some linkers put it beside the code.
    pub fn constants(&self, most: u64) -> Option<Vec<u8>> {
        // The segments of a valid file do not overlap.
        let most = most.min(self.length());
        let is = |one: &Segment, flags| one.kind == PT_LOAD && one.flags == flags;
        let has_own = self.segments().iter().any(|one| is(one, PF_R));
        let mut bytes = Vec::new();
        for segment in self.segments() {
            if !is(segment, if has_own { PF_R } else { PF_R_X }) {
                continue;
            }
            if segment.size > most.checked_sub(bytes.len() as u64)? {
                return None;
            }
            bytes.append(&mut self.file.read(segment.offset, segment.size)?);
        }
        Some(bytes)
    }
}

fn not_elf(start: &[u8]) -> Defect {
    Defect::foreign("an ELF library", start)
}

pub fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}
