//! What a DLL says of itself, on any system, without running it and without reading all of its 500 megabytes. The
//! format: <https://learn.microsoft.com/windows/win32/debug/pe-format>.

use super::files::read_at;
use crate::model::version::Version;
use std::fs::File;
use std::io::BufRead;
use std::path::Path;

/// The release of a part and what told it: its version symbol, as in the libraries for Linux, else the version that
/// its resources give. Not every part has one.
pub fn release(path: &Path, part: &str) -> Option<(Version, String)> {
    let mut dll = Dll::open(path)?;
    for symbol in [
        format!("cudnn_{part}_version"),
        format!("cudnn_{part}_infer_version"),
    ] {
        let bytes = dll.export(&symbol).and_then(|place| dll.read(place, 4));
        if let Some(&[patch, minor, major, 0]) = bytes.as_deref() {
            let version = Version::new(major.into(), minor.into(), patch.into());
            return Some((version, format!("symbol {symbol}")));
        }
    }
    Some((dll.file_version()?, "version resource".into()))
}

/// The processor that a DLL is for, as target triples call it.
pub fn cpu(path: &Path) -> Option<&'static str> {
    match Dll::open(path)?.machine {
        0x8664 => Some("x86_64"),
        0xaa64 => Some("aarch64"),
        _ => None,
    }
}

/// The CUDA major that a part was built for: it opens `cublasLt64_N.dll` by that name.
pub fn cuda_major(path: &Path) -> Option<u32> {
    let text = Dll::open(path)?.constants()?;
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

/// More than any part has whose strings name cublasLt; `cudnn_heuristic64_9.dll` has 83 MB of tables.
const MOST_CONSTANTS: u32 = 8 << 20;

/// The type of a version resource, and the mark at the beginning of what it fixes.
const VERSION: u32 = 16;
const FIXED: u32 = 0xfeef_04bd;

struct Dll {
    file: File,
    machine: u32,
    sections: Vec<Section>,
    exports: u32,
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
    fn open(path: &Path) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let start = read_at(&mut file, 0, 64)?;
        if !start.starts_with(b"MZ") {
            return None;
        }
        let header = number(&start, 0x3c, 4)?;
        let head = read_at(&mut file, header.into(), 24)?;
        if !head.starts_with(b"PE\0\0") {
            return None;
        }
        let (count, size) = (number(&head, 6, 2)?, number(&head, 20, 2)?);
        let rest = read_at(
            &mut file,
            u64::from(header) + 24,
            u64::from(size + count * 40),
        )?;
        // 64 bit alone: cuDNN has never been anything else.
        if number(&rest, 0, 2)? != 0x20b {
            return None;
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
        let sections = (0..count).map(section).collect::<Option<Vec<_>>>()?;
        let length = file.metadata().ok()?.len();
        // One that was cut off tells nothing that could be relied on.
        let is_there = |one: &Section| u64::from(one.offset) + u64::from(one.size) <= length;
        if !sections.iter().all(is_there) {
            return None;
        }
        Some(Self {
            machine: number(&head, 4, 2)?,
            sections,
            exports: number(&rest, 112, 4)?,
            resources: number(&rest, 128, 4)?,
            file,
        })
    }

    /// Bytes at an address, of one section.
    fn read(&mut self, address: u32, size: u32) -> Option<Vec<u8>> {
        let section = self.sections.iter().find(|section| {
            address
                .checked_sub(section.address)
                .and_then(|inside| section.size.checked_sub(inside))
                .is_some_and(|left| left >= size)
        })?;
        let offset = u64::from(section.offset) + u64::from(address - section.address);
        read_at(&mut self.file, offset, size.into())
    }

    /// The address of what it exports under this name. Names stand in the order of the alphabet.
    fn export(&mut self, name: &str) -> Option<u32> {
        let table = self.read(self.exports, 40)?;
        let field = |at| number(&table, at, 4);
        let (functions, names, ordinals) = (field(28)?, field(32)?, field(36)?);
        let wanted = [name.as_bytes(), &[0]].concat();
        let length = u32::try_from(wanted.len()).ok()?;
        let (mut low, mut high) = (0, field(24)?);
        while low < high {
            let middle = low + (high - low) / 2;
            let pointer = self.entry(names, middle, 4)?;
            let found = self.read(pointer, length)?;
            match found.cmp(&wanted) {
                std::cmp::Ordering::Equal => {
                    let index = self.entry(ordinals, middle, 2)?;
                    return self.entry(functions, index, 4);
                }
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn entry(&mut self, table: u32, index: u32, size: u32) -> Option<u32> {
        let address = index.checked_mul(size)?.checked_add(table)?;
        number(&self.read(address, size)?, 0, size as usize)
    }

    /// The first three numbers of its version resource, in the first language.
    fn file_version(&mut self) -> Option<Version> {
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
    fn child(&mut self, directory: u32, id: Option<u32>) -> Option<u32> {
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
    fn constants(&mut self) -> Option<Vec<u8>> {
        let section = self
            .sections
            .iter()
            .find(|section| &section.name == b".rdata\0\0")?;
        if section.size > MOST_CONSTANTS {
            return None;
        }
        read_at(&mut self.file, section.offset.into(), section.size.into())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A DLL with one section of constants at 0x1000: an export, a version resource, a name.
    fn dll(machine: u16) -> Vec<u8> {
        let mut section = vec![0; 0x400];
        let mut put =
            |at: usize, bytes: &[u8]| section[at..at + bytes.len()].copy_from_slice(bytes);
        // Four exports, of which the search for a name has to go both ways: functions at 0x30, names at 0x40, ordinals
        // at 0x50, what they stand for from 0x60.
        for (at, value) in [(0x18, 4), (0x1c, 0x1030), (0x20, 0x1040), (0x24, 0x1050)] {
            put(at, &u32::to_le_bytes(value));
        }
        for (index, (name, release)) in [
            ("another", 0),
            ("cudnn_adv_infer_version", 27),
            ("cudnn_cnn_version", 26),
            ("cudnn_graph_version", 28),
        ]
        .into_iter()
        .enumerate()
        {
            let (function, text) = (0x60 + index * 4, 0x80 + index * 0x20);
            let last = 3 - index;
            put(0x30 + last * 4, &u32::to_le_bytes(0x1000 + function as u32));
            put(0x40 + index * 4, &u32::to_le_bytes(0x1000 + text as u32));
            put(0x50 + index * 2, &[last as u8, 0]);
            put(function, &[0, release, 9, 0]);
            put(text, name.as_bytes());
        }
        // Resources at 0x200: of type 16, of one name, of one language; the data at 0x280.
        for (at, id, child) in [
            (0x200, 16, 0x8000_0020),
            (0x220, 1, 0x8000_0040),
            (0x240, 1033, 0x60),
        ] {
            put(at + 14, &[1]);
            put(at + 16, &u32::to_le_bytes(id));
            put(at + 20, &u32::to_le_bytes(child));
        }
        put(0x260, &u32::to_le_bytes(0x1280));
        put(0x264, &u32::to_le_bytes(0x40));
        for (at, value) in [(0x290, FIXED), (0x298, 0x0009_001c), (0x29c, 0x0003_002a)] {
            put(at, &u32::to_le_bytes(value));
        }
        put(0x300, b"cublasLt.dll\0cublasLt64_13.dll\0");
        let mut bytes = vec![0; 0x200];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, b"MZ");
        put(0x3c, &[0x40]);
        put(0x40, b"PE\0\0");
        put(0x44, &machine.to_le_bytes());
        put(0x46, &[1]);
        put(0x54, &[144]);
        put(0x58, &[0x0b, 0x02]);
        put(0x58 + 112, &u32::to_le_bytes(0x1000));
        put(0x58 + 128, &u32::to_le_bytes(0x1200));
        let header = 0x58 + 144;
        put(header, b".rdata");
        for (at, value) in [(12, 0x1000), (16, 0x400), (20, 0x200)] {
            put(header + at, &u32::to_le_bytes(value));
        }
        [bytes, section].concat()
    }

    fn told(bytes: &[u8], part: &str) -> (Option<String>, Option<&'static str>, Option<u32>) {
        let thread = format!("{:?}", std::thread::current().id());
        let name = format!("cudnn-guard-dll-{}-{thread}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        let release = release(&path, part).map(|(version, by)| format!("{version} by {by}"));
        let told = (release, cpu(&path), cuda_major(&path));
        std::fs::remove_file(&path).unwrap();
        told
    }

    #[test]
    fn a_release_is_told_by_symbol_else_by_resource() {
        let by = |text: &str| Some(text.to_string());
        assert_eq!(
            told(&dll(0x8664), "graph"),
            (
                by("9.28.0 by symbol cudnn_graph_version"),
                Some("x86_64"),
                Some(13)
            )
        );
        assert_eq!(
            told(&dll(0xaa64), "cudnn"),
            (by("9.28.3 by version resource"), Some("aarch64"), Some(13))
        );
        assert_eq!(
            told(&dll(0x14c), "adv"),
            (
                by("9.27.0 by symbol cudnn_adv_infer_version"),
                None,
                Some(13)
            )
        );
    }

    #[test]
    fn damage_ends_in_an_answer() {
        let whole = dll(0x8664);
        for length in 0..whole.len() {
            assert_eq!(
                told(&whole[..length], "graph"),
                (None, None, None),
                "{length}"
            );
        }
        for place in 0..whole.len() {
            let mut bent = whole.clone();
            bent[place] = !bent[place];
            told(&bent, "graph");
        }
    }
}
