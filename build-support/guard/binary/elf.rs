//! What an ELF file says of itself, read without running any of it: as the loader sees it, by its segments and its
//! dynamic table. The format: <https://refspecs.linuxfoundation.org/elf/>.

use crate::runtime::binary::bounded_file::BoundedFile;
use crate::runtime::binary::defect::{Defect, cpu_name};
use std::path::Path;

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const PT_INTERP: u64 = 3;
/// A segment that is only read, and one that is also run.
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
/// The size of the head of a 64-bit file. No library is shorter.
const HEAD: u64 = 64;
/// More segments and a longer dynamic table than any linker makes: to look through them takes no time.
const MOST_SEGMENTS: usize = 64;
const LONGEST_DYNAMIC: u64 = 1 << 16;

/// How the numbers of a file are written.
#[derive(Clone, Copy)]
pub struct Layout {
    is_wide: bool,
    is_big: bool,
}

impl Layout {
    fn from_ident(head: &[u8]) -> Option<Self> {
        let known = head.starts_with(b"\x7fELF") && head.len() as u64 == HEAD;
        match head.get(4..7).filter(|_| known)? {
            [class @ (1 | 2), order @ (1 | 2), 1] => Some(Self {
                is_wide: *class == 2,
                is_big: *order == 2,
            }),
            _ => None,
        }
    }

    /// A number of up to eight bytes.
    pub fn number(self, bytes: &[u8], at: usize, size: usize) -> Option<u64> {
        let field = bytes.get(at..at.checked_add(size)?)?;
        let mut value = 0;
        for index in 0..size {
            let index = if self.is_big { index } else { size - 1 - index };
            value = value << 8 | u64::from(*field.get(index)?);
        }
        Some(value)
    }

    /// What holds for 32-bit files, or what for 64-bit ones.
    pub fn either<T>(self, narrow: T, wide: T) -> T {
        if self.is_wide { wide } else { narrow }
    }

    /// An address, an offset or a size, which stands at the first place in 32-bit files and at the second in others.
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

/// A file, open for reading. Of what it is not or does not hold, it tells nothing.
pub struct Elf {
    file: BoundedFile,
    /// The first 64 bytes, or all that there are.
    start: Vec<u8>,
    layout: Option<Layout>,
    /// Where the last segment ends, and their table.
    reach: u64,
    segments: Option<Vec<Segment>>,
    /// Tags and values.
    dynamic: Option<Vec<(u64, u64)>>,
}

impl Elf {
    /// Opens a file, whatever it is.
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

    /// Opens a file and sees whether this process could map it.
    pub fn open(path: &Path) -> Result<Self, Defect> {
        let elf = Self::read(path)?;
        if !elf.is_elf() || elf.length() < HEAD {
            return Err(elf.defect().unwrap_or(not_elf(&[])));
        }
        if elf.start.get(4..6) != Some(&[2, 1]) {
            return Err(Defect::Class);
        }
        let own = std::env::consts::ARCH;
        let machine = elf.machine().ok_or(Defect::Garbled)?;
        if matches!(own, "x86_64" | "aarch64") && cpu_name(machine) != Some(own) {
            return Err(Defect::Machine(machine, own));
        }
        match elf.defect() {
            Some(defect) => Err(defect),
            None if elf.segments.is_none() || elf.dynamic.is_none() => Err(Defect::Garbled),
            None => Ok(elf),
        }
    }

    /// Itself: a DLL, in its place on Windows, is none.
    pub fn as_elf(&self) -> Option<&Self> {
        Some(self)
    }

    /// Why no linker and no loader can take it, processors aside.
    pub fn defect(&self) -> Option<Defect> {
        let length = self.length();
        if length == 0 {
            return Some(Defect::Empty);
        }
        if !self.is_elf() {
            return Some(not_elf(&self.start));
        }
        let reach = self.reach.max(HEAD);
        (reach > length).then_some(Defect::CutOff("segments", reach, length))
    }

    /// Its size.
    pub fn length(&self) -> u64 {
        self.file.length()
    }

    /// The number of the processor that it is for.
    pub fn machine(&self) -> Option<u64> {
        self.layout?.number(&self.start, 18, 2)
    }

    /// The processor that it is for, as target triples call it, if its numbers stand the usual way round.
    pub fn cpu(&self) -> Option<&'static str> {
        let layout = self.layout.filter(|layout| !layout.is_big);
        layout.and_then(|_| cpu_name(self.machine()?))
    }

    /// Whether it is of 64 bits, with the lowest byte first; none where it is no ELF file.
    pub fn is_usual(&self) -> Option<bool> {
        let layout = self.layout?;
        Some(layout.is_wide && !layout.is_big)
    }

    /// The loader that it names.
    pub fn interpreter(&self) -> Option<String> {
        let segment = self.segment(PT_INTERP)?;
        self.file.text(segment.offset, segment.size).map(lossy)
    }

    /// The file names of the libraries that are loaded with it.
    pub fn needed(&self) -> Vec<String> {
        let mut needed = Vec::new();
        for (tag, at) in self.entries() {
            if let (DT_NEEDED, Some(name)) = (*tag, self.name(*at)) {
                needed.push(lossy(name));
            }
        }
        needed
    }

    /// The name under which the loader knows it.
    pub fn soname(&self) -> Option<String> {
        self.dynamic_string(DT_SONAME)
    }

    /// Its DT_RPATH, which wins over LD_LIBRARY_PATH, unless there is a DT_RUNPATH.
    pub fn rpath(&self) -> Option<String> {
        match self.dynamic_value(DT_RUNPATH) {
            Some(_) => None,
            None => self.dynamic_string(DT_RPATH),
        }
    }

    /// Its DT_RUNPATH.
    pub fn runpath(&self) -> Option<String> {
        self.dynamic_string(DT_RUNPATH)
    }

    /// Whether the folders that it names itself are looked at before those of LD_LIBRARY_PATH.
    pub fn rpath_first(&self) -> Option<bool> {
        self.dynamic.as_ref()?;
        Some(self.dynamic_value(DT_RPATH).is_some() && self.dynamic_value(DT_RUNPATH).is_none())
    }

    /// DF_1_NODEFLIB: what it needs is not looked for in the system's folders.
    pub fn is_nodeflib(&self) -> bool {
        self.dynamic_value(DT_FLAGS_1)
            .is_some_and(|flags| flags & DF_1_NODEFLIB != 0)
    }

    /// What it only reads, if that is no more than `most` bytes. Some linkers put it among the code.
    pub fn constants(&self, most: u64) -> Option<Vec<u8>> {
        // The segments of a sound file do not lie over each other.
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

    /// So many bytes of the file, if there are as many.
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
        let rows = self.rows(start, row, count, layout.either(32, 56))?;
        let mut segments = Vec::new();
        for row in rows {
            let segment = Segment {
                kind: layout.number(&row, 0, 4)?,
                flags: layout.number(&row, layout.either(24, 4), 4)?,
                offset: layout.address(&row, 4, 8)?,
                address: layout.address(&row, 8, 16)?,
                size: layout.address(&row, 16, 32)?,
            };
            if matches!(segment.kind, PT_LOAD | PT_DYNAMIC) {
                self.reach = self.reach.max(segment.offset.saturating_add(segment.size));
            }
            if matches!(segment.kind, PT_LOAD | PT_DYNAMIC | PT_INTERP) {
                segments.push(segment);
            }
        }
        segments.truncate(MOST_SEGMENTS);
        Some(segments)
    }

    /// The rows of a table; none where they are not of the size that they have to be.
    pub fn rows(&self, place: u64, row: u64, count: u64, size: u64) -> Option<Vec<Vec<u8>>> {
        if count > 0 && (place == 0 || row != size) {
            return None;
        }
        let bytes = self.file.read(place, size.checked_mul(count)?)?;
        let mut rows = Vec::new();
        for row in bytes.chunks_exact(size as usize) {
            rows.push(row.to_vec());
        }
        Some(rows)
    }

    fn read_dynamic(&self) -> Option<Vec<(u64, u64)>> {
        let layout = self.layout?;
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

    /// The first value of the dynamic table with this tag.
    pub fn dynamic_value(&self, tag: u64) -> Option<u64> {
        let entry = self.entries().iter().find(|entry| entry.0 == tag)?;
        Some(entry.1)
    }

    fn dynamic_string(&self, tag: u64) -> Option<String> {
        self.name(self.dynamic_value(tag)?).map(lossy)
    }

    /// The name that stands at this place of the table of strings.
    pub fn name(&self, at: u64) -> Option<Vec<u8>> {
        self.name_within(at, u64::MAX)
    }

    /// Whether this name stands there.
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

    /// The bytes of an entry at an address.
    pub fn entry(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        self.file.entry(self.offset_of(address)?, size)
    }

    /// The text at a place in the file.
    pub fn text(&self, offset: u64, most: u64) -> Option<Vec<u8>> {
        self.file.text(offset, most)
    }

    pub fn layout(&self) -> Option<Layout> {
        self.layout
    }

    /// The first 64 bytes.
    pub fn head(&self) -> &[u8] {
        &self.start
    }

    fn offset_of(&self, address: u64) -> Option<u64> {
        for segment in self.segments() {
            match address.checked_sub(segment.address) {
                Some(inside) if segment.kind == PT_LOAD && inside < segment.size => {
                    return segment.offset.checked_add(inside);
                }
                _ => {}
            }
        }
        None
    }
}

fn not_elf(start: &[u8]) -> Defect {
    Defect::foreign("an ELF library", start)
}

/// As text; what is not UTF-8 is replaced.
pub fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}
