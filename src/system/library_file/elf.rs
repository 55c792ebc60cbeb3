//! The tables of a 64-bit ELF file, of either byte order. The format: <https://refspecs.linuxfoundation.org/elf/>.

use crate::system::files::read_at;
use std::fs::File;
use std::io::BufRead;
use std::path::Path;

pub const EM_386: u16 = 3;
pub const EM_ARM: u16 = 40;
pub const EM_PPC64: u16 = 21;
pub const EM_X86_64: u16 = 62;
pub const EM_AARCH64: u16 = 183;
pub const PT_LOAD: u32 = 1;
pub const PT_DYNAMIC: u32 = 2;
pub const SHT_DYNAMIC: u32 = 6;
const SHT_NOBITS: u32 = 8;
pub const SHT_DYNSYM: u32 = 11;
pub const SHT_GNU_HASH: u32 = 0x6fff_fff6;
pub const SHT_GNU_VERNEED: u32 = 0x6fff_fffe;
pub const SHT_GNU_VERSYM: u32 = 0x6fff_ffff;
pub const DT_NEEDED: u64 = 1;
pub const DT_RPATH: u64 = 15;
pub const DT_RUNPATH: u64 = 29;

/// More than any table of a library's has; what asks for more is damaged.
const MOST: u64 = 64 << 20;

/// Bytes, and in which order numbers stand in them.
pub struct Bytes {
    is_big: bool,
    pub bytes: Vec<u8>,
}

impl Bytes {
    pub fn half(&self, at: u64) -> Option<u16> {
        let field = *self.from(at)?.first_chunk()?;
        Some(if self.is_big {
            u16::from_be_bytes(field)
        } else {
            u16::from_le_bytes(field)
        })
    }

    pub fn word(&self, at: u64) -> Option<u32> {
        let field = *self.from(at)?.first_chunk()?;
        Some(if self.is_big {
            u32::from_be_bytes(field)
        } else {
            u32::from_le_bytes(field)
        })
    }

    pub fn wide(&self, at: u64) -> Option<u64> {
        let field = *self.from(at)?.first_chunk()?;
        Some(if self.is_big {
            u64::from_be_bytes(field)
        } else {
            u64::from_le_bytes(field)
        })
    }

    /// The string from here on, up to its NUL.
    pub fn string(&self, at: u32) -> Option<&[u8]> {
        let tail = self.from(at.into())?;
        let mut rest = tail;
        // It comes compiled with optimisation; a loop over bytes in a build script does not.
        let length = rest.skip_until(0).ok()?;
        tail.get(..length)?.strip_suffix(&[0])
    }

    fn from(&self, at: u64) -> Option<&[u8]> {
        self.bytes.get(usize::try_from(at).ok()?..)
    }
}

/// One row of the table by which a loader maps the file.
pub struct Segment {
    pub kind: u32,
    pub offset: u64,
    pub size: u64,
}

/// One row of the table by which linkers see the file.
pub struct Section {
    pub name: u32,
    pub kind: u32,
    pub address: u64,
    offset: u64,
    pub size: u64,
    /// The number of another section that belongs to it.
    pub link: u32,
}

impl Section {
    /// Where it is in the file, and its size; none if it takes up no room there.
    pub fn range(&self) -> Option<(u64, u64)> {
        (self.kind != SHT_NOBITS).then_some((self.offset, self.size))
    }
}

/// A file, open for reading. Of what it is not or does not hold, it tells nothing.
pub struct Elf {
    file: File,
    length: u64,
    /// The first 64 bytes, or all that there are.
    pub start: Bytes,
}

impl Elf {
    /// Opens a file; none where that is not possible.
    pub fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let length = file.metadata().ok()?.len();
        let bytes = read_at(&file, 0, length.min(64))?;
        let is_big = bytes.get(5) == Some(&2);
        Some(Self {
            file,
            length,
            start: Bytes { is_big, bytes },
        })
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// The processor that it is for, if its numbers stand the usual way round.
    pub fn machine(&self) -> Option<u16> {
        let is_usual = self.is_elf() && !self.start.is_big;
        self.start.half(18).filter(|_| is_usual)
    }

    pub fn is_elf(&self) -> bool {
        self.start.bytes.starts_with(b"\x7fELF")
    }

    /// The whole head, if it is one of a 64-bit file.
    pub fn head(&self) -> Option<&Bytes> {
        let start = &self.start;
        let is_wide = matches!(start.bytes.get(4..7), Some([2, 1 | 2, 1]));
        (self.is_elf() && is_wide && start.bytes.len() == 64).then_some(start)
    }

    /// Where the table of segments ends.
    pub fn segments_end(&self) -> Option<u64> {
        let head = self.head()?;
        let size = u64::from(head.half(54)?) * u64::from(head.half(56)?);
        Some(head.wide(32)?.saturating_add(size))
    }

    pub fn segments(&self) -> Option<Vec<Segment>> {
        let head = self.head()?;
        let rows = self.rows(head.wide(32)?, head.half(54)?, head.half(56)?, 56)?;
        let mut segments = Vec::new();
        for row in 0..u64::from(head.half(56)?) {
            let at = row * 56;
            segments.push(Segment {
                kind: rows.word(at)?,
                offset: rows.wide(at + 8)?,
                size: rows.wide(at + 32)?,
            });
        }
        Some(segments)
    }

    pub fn sections(&self) -> Option<Vec<Section>> {
        let head = self.head()?;
        let rows = self.rows(head.wide(40)?, head.half(58)?, head.half(60)?, 64)?;
        let mut sections = Vec::new();
        for row in 0..u64::from(head.half(60)?) {
            let at = row * 64;
            sections.push(Section {
                name: rows.word(at)?,
                kind: rows.word(at + 4)?,
                address: rows.wide(at + 16)?,
                offset: rows.wide(at + 24)?,
                size: rows.wide(at + 32)?,
                link: rows.word(at + 40)?,
            });
        }
        Some(sections)
    }

    /// A table of so many rows; none where its rows are not of the size that they have to be.
    fn rows(&self, place: u64, row: u16, count: u16, size: u16) -> Option<Bytes> {
        if count > 0 && (place == 0 || row != size) {
            return None;
        }
        self.read(place, u64::from(size) * u64::from(count))
    }

    /// The section of this name.
    pub fn named(&self, name: &str) -> Option<Section> {
        let sections = self.sections()?;
        let names = self.names(&sections)?;
        sections
            .into_iter()
            .find(|section| names.string(section.name) == Some(name.as_bytes()))
    }

    /// The strings that name the sections.
    pub fn names(&self, sections: &[Section]) -> Option<Bytes> {
        let index = self.head()?.half(62)?;
        self.data(sections.get(usize::from(index))?)
    }

    /// What is in a section.
    pub fn data(&self, section: &Section) -> Option<Bytes> {
        let (offset, size) = section.range().unwrap_or_default();
        self.read(offset, size)
    }

    /// The entries of a dynamic table: its tags and their values.
    pub fn dynamic(&self, offset: u64, size: u64) -> Option<Vec<(u64, u64)>> {
        let table = self.read(offset, size)?;
        let mut entries = Vec::new();
        for row in 0..size / 16 {
            entries.push((table.wide(row * 16)?, table.wide(row * 16 + 8)?));
        }
        Some(entries)
    }

    pub fn read(&self, offset: u64, size: u64) -> Option<Bytes> {
        if size > MOST || offset.checked_add(size)? > self.length {
            return None;
        }
        Some(Bytes {
            is_big: self.start.is_big,
            bytes: read_at(&self.file, offset, size)?,
        })
    }
}
