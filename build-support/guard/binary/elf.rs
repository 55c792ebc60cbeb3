//! ELF files, read without running any of their code. Like the loader, this module reads the segments and the dynamic
//! table. Only the header is read of 32-bit and big-endian files, since cuDNN exists for no such CPU. The format:
//! <https://refspecs.linuxfoundation.org/elf/>.

use crate::runtime::binary::{BoundedFile, Defect, cpu_name, number};
use std::path::Path;
use std::rc::Rc;

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
pub const DT_FLAGS_1: u64 = 0x6fff_fffb;
const DF_1_NODEFLIB: u64 = 0x800;
/// The size of the header of a 64-bit file. No library is shorter.
const HEAD: u64 = 64;
/// The size of a row of the table of segments.
const SEGMENT: usize = 56;
/// Limits above the number of segments and the length of the dynamic table that linkers write, low enough for a fast
/// search.
const MOST_SEGMENTS: usize = 64;
const LONGEST_DYNAMIC: u64 = 1 << 16;
/// The smallest page of a supported CPU. The loader maps pages.
const PAGE: u64 = 4096;

struct Segment {
    kind: u64,
    flags: u64,
    offset: u64,
    address: u64,
    size: u64,
}

/// An open file. If it is not an ELF file, the methods about its contents return nothing.
pub struct Elf {
    pub(super) file: Rc<BoundedFile>,
    /// The first 64 bytes, or the whole file if it is shorter.
    pub(super) start: Vec<u8>,
    /// `true` for a 64-bit, little-endian file.
    pub is_64_bit_le: bool,
    /// The end of the table of segments, or of the last segment with a page that is not in the file.
    reach: u64,
    segments: Vec<Segment>,
    /// Tags and values.
    dynamic: Vec<(u64, u64)>,
}

impl Elf {
    /// Opens a file of any kind.
    pub fn read(path: &Path) -> Result<Self, Defect> {
        let defect = |error| Defect::in_the_way(path).unwrap_or_else(|| Defect::unopened(&error));
        let file = BoundedFile::open_library(path).map_err(defect)?;
        let start = file.entry(0, file.length().min(HEAD)).unwrap_or_default();
        let mut elf = Self {
            is_64_bit_le: start.len() as u64 == HEAD && start.starts_with(b"\x7fELF\x02\x01\x01"),
            file,
            start,
            reach: 0,
            segments: Vec::new(),
            dynamic: Vec::new(),
        };
        elf.segments = elf.read_segments().unwrap_or_default();
        elf.dynamic = elf.read_dynamic().unwrap_or_default();
        match elf.file.failure() {
            Some(failure) => Err(failure),
            None => Ok(elf),
        }
    }

    /// Opens a file and checks that this process could map it.
    pub fn open(path: &Path) -> Result<Self, Defect> {
        Self::open_for(path, std::env::consts::ARCH)
    }

    /// Opens a file and checks that a program for this 64-bit, little-endian CPU could map it.
    pub fn open_for(path: &Path, cpu: &str) -> Result<Self, Defect> {
        let elf = Self::read(path)?;
        if !elf.is_elf() || elf.length() < HEAD {
            return Err(elf.defect().unwrap_or(not_elf(&[])));
        }
        if !elf.is_64_bit_le {
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

    /// Returns the ELF number of its CPU, if it is little-endian.
    pub fn machine(&self) -> Option<u64> {
        let is_little = self.is_elf() && self.start.get(5) == Some(&1);
        number(&self.start, 18, 2).filter(|_| is_little)
    }

    /// Returns the name of its CPU in target triples.
    pub fn cpu(&self) -> Option<&'static str> {
        cpu_name(self.machine()?)
    }

    /// Returns the file names of the libraries that it is linked to.
    pub fn needed(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (tag, at) in &self.dynamic {
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
        if !self.is_64_bit_le {
            return None;
        }
        let field = |at, size| number(&self.start, at, size);
        let (start, row, count) = (field(32, 8)?, field(54, 2)?, field(56, 2)?);
        self.reach = start.saturating_add(row * count);
        let rows = self.rows(start, row, count, SEGMENT)?;
        let mut segments = Vec::new();
        for row in rows.chunks_exact(SEGMENT) {
            let mut segment = Segment {
                kind: number(row, 0, 4)?,
                flags: number(row, 4, 4)?,
                offset: number(row, 8, 8)?,
                address: number(row, 16, 8)?,
                size: number(row, 32, 8)?,
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
        self.file.entry(place, size.checked_mul(count)?)
    }

    fn read_dynamic(&self) -> Option<Vec<(u64, u64)>> {
        let segment = self.segment(PT_DYNAMIC)?;
        if self.reach > self.length() {
            return None;
        }
        let size = segment.size.min(LONGEST_DYNAMIC);
        let bytes = self.file.entry(segment.offset, size)?;
        let mut entries = Vec::new();
        for entry in bytes.chunks_exact(16) {
            match number(entry, 0, 8)? {
                0 => break,
                tag => entries.push((tag, number(entry, 8, 8)?)),
            }
        }
        Some(entries)
    }

    fn segment(&self, kind: u64) -> Option<&Segment> {
        self.segments.iter().find(|segment| segment.kind == kind)
    }

    pub fn dynamic_value(&self, tag: u64) -> Option<u64> {
        let entry = self.dynamic.iter().find(|entry| entry.0 == tag)?;
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
        let mut segments = self.segments.iter();
        let (segment, inside) = segments.find_map(|segment| {
            let inside = address.checked_sub(segment.address)?;
            (segment.kind == PT_LOAD && inside < segment.size).then_some((segment, inside))
        })?;
        segment.offset.checked_add(inside)
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
        let has_own = self.segments.iter().any(|one| is(one, PF_R));
        let mut bytes = Vec::new();
        for segment in &self.segments {
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
