//! What a library file says of itself, without running it and without reading all of its 500 megabytes.

use super::files::read_at;
use super::symbols::Symbols;
use crate::model::flaw::Flaw;
use crate::model::version::Version;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, ReadCache, ReadRef};
use std::fs::File;
use std::io::BufRead;
use std::path::{Path, PathBuf};

pub(super) type Header = FileHeader64<Endianness>;

/// More than any part has whose strings name cublasLt; `libcudnn_graph` has 24 MB of device code among its constants.
const MOST_CONSTANTS: u64 = 8 << 20;

/// A library file, open for reading. Of what it is not or does not hold, it tells nothing.
pub struct Library {
    path: PathBuf,
    pub(super) file: ReadCache<File>,
    length: u64,
}

impl Library {
    /// Opens a file; none where that is not possible.
    pub fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let length = file.metadata().ok()?.len();
        Some(Self {
            path: path.to_path_buf(),
            file: ReadCache::new(file),
            length,
        })
    }

    /// Its size.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The processor that it is for, as target triples call it.
    pub fn cpu(&self) -> Option<&'static str> {
        let start = (&self.file).read_bytes_at(0, 20).ok()?;
        if !start.starts_with(&elf::ELFMAG) {
            return None;
        }
        match u16::from_le_bytes([*start.get(18)?, *start.get(19)?]) {
            elf::EM_X86_64 => Some("x86_64"),
            elf::EM_AARCH64 => Some("aarch64"),
            elf::EM_386 => Some("i686"),
            elf::EM_ARM => Some("arm"),
            elf::EM_PPC64 => Some("powerpc64le"),
            _ => None,
        }
    }

    /// Why no linker and no loader can take it, processors aside. An unversioned `libcudnn.so` may be a script for
    /// the linker, which this is not asked about.
    pub fn flaw(&self) -> Option<Flaw> {
        if self.length == 0 {
            return Some(Flaw::Empty);
        }
        let start = (&self.file).read_bytes_at(0, self.length.min(64)).ok()?;
        if !start.starts_with(&elf::ELFMAG) {
            return Some(Flaw::foreign("an ELF library", start));
        }
        if self.length < 64 {
            return Some(Flaw::CutOff("segments", 64, self.length));
        }
        let (endian, header) = self.header()?;
        let table = header.e_phoff(endian).saturating_add(
            u64::from(header.e_phentsize(endian)) * u64::from(header.e_phnum(endian)),
        );
        let segments = header.program_headers(endian, &self.file);
        let ends = segments.unwrap_or_default().iter().map(|segment| {
            let (offset, size) = segment.file_range(endian);
            match segment.p_type(endian) {
                elf::PT_LOAD | elf::PT_DYNAMIC => offset.saturating_add(size),
                _ => 0,
            }
        });
        let reach = ends.chain([table]).max()?;
        (reach > self.length).then_some(Flaw::CutOff("segments", reach, self.length))
    }

    /// The release of a part and the symbol that told it: four bytes, patch, minor, major and 0, under a name such as
    /// `cudnn_graph_version`. Not every part has one.
    pub fn release(&self, part: &str) -> Option<(Version, String)> {
        let symbols = Symbols::of(self)?;
        for symbol in [
            format!("cudnn_{part}_version"),
            format!("cudnn_{part}_infer_version"),
        ] {
            if let Some(&[patch, minor, major, 0]) = symbols.data(&symbol, 4) {
                let version = Version::new(major.into(), minor.into(), patch.into());
                return Some((version, symbol));
            }
        }
        None
    }

    /// The linker's number for this very build, in hexadecimal.
    pub fn build_id(&self) -> Option<String> {
        let (endian, header) = self.header()?;
        let sections = header.sections(endian, &self.file).ok()?;
        // Not by the segment: in parts of 8.x that one leads astray.
        let (_, section) = sections.section_by_name(endian, b".note.gnu.build-id")?;
        if section.sh_size(endian) > 256 {
            return None;
        }
        let note = section.data(endian, &self.file).ok()?;
        let id = note
            .get(16..)
            .filter(|_| note.get(12..16) == Some(b"GNU\0"));
        Some(id?.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Whether the directories that it names itself are looked at before those of LD_LIBRARY_PATH: that is what
    /// DT_RPATH does, unless there is a DT_RUNPATH.
    pub fn own_first(&self) -> Option<bool> {
        let (endian, header) = self.header()?;
        let segments = header.program_headers(endian, &self.file).ok()?;
        let mut dynamic = segments.iter().filter_map(|segment| {
            let entries = segment.dynamic(endian, &self.file).ok()??;
            let has = |tag: u32| {
                let mut entries = entries.iter();
                entries.any(|entry| entry.d_tag(endian) == u64::from(tag))
            };
            Some(has(elf::DT_RPATH) && !has(elf::DT_RUNPATH))
        });
        dynamic.next()
    }

    /// The file names of the libraries that it is linked with.
    pub fn needed(&self) -> Vec<String> {
        self.linked_with().unwrap_or_default()
    }

    fn linked_with(&self) -> Option<Vec<String>> {
        let (endian, header) = self.header()?;
        let sections = header.sections(endian, &self.file).ok()?;
        let (entries, strings) = sections.dynamic(endian, &self.file).ok()??;
        let strings = sections.strings(endian, &self.file, strings).ok()?;
        let names = entries
            .iter()
            .filter(|entry| entry.d_tag(endian) == u64::from(elf::DT_NEEDED))
            .filter_map(|entry| strings.get(entry.d_val(endian).try_into().ok()?).ok());
        Some(
            names
                .map(|name| String::from_utf8_lossy(name).into_owned())
                .collect(),
        )
    }

    /// What it takes from other libraries under the name of a version: the library's file name and the symbol.
    pub fn wants(&self) -> Vec<(String, Vec<u8>)> {
        Symbols::of(self).map_or_else(Vec::new, |symbols| symbols.wanted().unwrap_or_default())
    }

    /// Those of the symbols that it does not define. None are lacking from a library that does not tell.
    pub fn lacks<'s>(&self, wanted: impl Iterator<Item = &'s [u8]>) -> Vec<String> {
        let Some(symbols) = Symbols::of(self) else {
            return Vec::new();
        };
        wanted
            .filter(|name| symbols.find(name).is_none())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect()
    }

    /// The functions that others have to have for it, whatever library they are in.
    #[cfg(feature = "cli")]
    pub fn calls(&self) -> Vec<String> {
        Symbols::of(self).map_or_else(Vec::new, |symbols| symbols.called())
    }

    /// Its constants, if they are no more than this.
    #[cfg(feature = "cli")]
    pub fn constant_bytes(&self, most: u64) -> Option<Vec<u8>> {
        let (offset, size) = self.constants(most)?;
        read_at(&File::open(&self.path).ok()?, offset, size)
    }

    /// The CUDA major that a part was built for: it opens `libcublasLt.so.N` by that name.
    pub fn cuda_major(&self) -> Option<u32> {
        let (offset, size) = self.constants(MOST_CONSTANTS)?;
        let text = read_at(&File::open(&self.path).ok()?, offset, size)?;
        let mut rest = text.as_slice();
        // `skip_until` comes compiled with optimisation; a loop over bytes in a build script does not.
        while rest.skip_until(b'L').is_ok_and(|skipped| skipped > 0) && !rest.is_empty() {
            let before = &text[..text.len() - rest.len()];
            if let (true, Some(tail)) =
                (before.ends_with(b"libcublasL"), rest.strip_prefix(b"t.so."))
            {
                let digits = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let number = std::str::from_utf8(&tail[..digits]).ok();
                if let Some(major) = number.and_then(|digits| digits.parse().ok()) {
                    return Some(major);
                }
            }
        }
        None
    }

    /// Where its device code is in the file, and the size of that: 0 if it has none.
    pub fn device_code(&self) -> Option<(u64, u64)> {
        let (endian, header) = self.header()?;
        let sections = header.sections(endian, &self.file).ok()?;
        for section in sections.iter() {
            if sections.section_name(endian, section).ok()? == b".nv_fatbin" {
                return section.file_range(endian);
            }
        }
        Some((0, 0))
    }

    pub(super) fn header(&self) -> Option<(Endianness, &Header)> {
        let header = Header::parse(&self.file).ok()?;
        Some((header.endian().ok()?, header))
    }

    /// Where the section of constants is in the file, and its size, if that is no more than this.
    fn constants(&self, most: u64) -> Option<(u64, u64)> {
        let (endian, header) = self.header()?;
        let sections = header.sections(endian, &self.file).ok()?;
        let (_, section) = sections.section_by_name(endian, b".rodata")?;
        if section.sh_size(endian) > most {
            return None;
        }
        section.file_range(endian)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::process::Command;

    fn compiled(name: &str, source: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-library-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (source_file, library) = (dir.join(format!("{name}.c")), dir.join(name));
        std::fs::write(&source_file, source).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-Wl,--hash-style=gnu", "-o"])
            .arg(&library)
            .arg(&source_file);
        assert!(cc.status().unwrap().success());
        library
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_tells_its_release_and_its_cuda() {
        let path = compiled(
            "libcudnn_ops.so.9",
            "const unsigned char cudnn_ops_infer_version[4] = {2, 14, 9, 0};\n\
             const char *first(void) { return \"Lall LibL libcublasLt.so. libcublasL\"; }\n\
             const char *flavour(void) { return \"libcublasLt.so.13\"; }\n\
             const char *other(void) { return \"libcublasLt\"; }\n",
        );
        let told = Some((
            Version::new(9, 14, 2),
            "cudnn_ops_infer_version".to_string(),
        ));
        let library = Library::open(&path).unwrap();
        assert_eq!(library.release("ops"), told);
        assert_eq!(library.release("graph"), None);
        assert_eq!(library.cuda_major(), Some(13));
        assert_eq!(library.flaw(), None);
        let path = compiled(
            "libcudnn_adv.so.9",
            "const char *f(void) { return \"L libcublasLt.so\"; }\n",
        );
        let library = Library::open(&path).unwrap();
        assert_eq!(library.cuda_major(), None);
        assert_eq!(library.release("adv"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_damaged_library_tells_nothing_and_harms_nobody() {
        let whole = std::fs::read(compiled(
            "libcudnn_graph.so.9",
            "const unsigned char cudnn_graph_version[4] = {0, 1, 9, 0};\n\
             const char *f(void) { return \"libcublasLt.so.12\"; }\n",
        ))
        .unwrap();
        let path = std::env::temp_dir().join(format!("cudnn-guard-damaged-{}", std::process::id()));
        for length in (0..whole.len()).step_by(61) {
            std::fs::write(&path, &whole[..length]).unwrap();
            let library = Library::open(&path).unwrap();
            assert!(
                length > whole.len() / 2 || library.flaw().is_some(),
                "{length}"
            );
            assert_eq!(library.release("graph"), None, "{length}");
            assert_eq!(library.cuda_major(), None, "{length}");
        }
        for place in (0..whole.len()).step_by(7) {
            let mut bent = whole.clone();
            bent[place] = !bent[place];
            std::fs::write(&path, &bent).unwrap();
            let library = Library::open(&path).unwrap();
            let _ = (library.release("graph"), library.cuda_major());
            let _ = (library.flaw(), library.build_id(), library.own_first());
            library.wants();
            library.lacks([&b"f"[..]].into_iter());
        }
        std::fs::remove_file(&path).unwrap();
    }
}
