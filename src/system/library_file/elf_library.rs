//! What a library file says of itself, without running it and without reading all of its 500 megabytes.

use crate::model::file_defect::Flaw;
use crate::model::version::Version;
use crate::system::files::read_at;
use crate::system::library_file::elf;
use crate::system::library_file::elf::Elf;
use crate::system::library_file::symbols::Symbols;
use std::fs::File;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// More than any part has whose strings name cublasLt; `libcudnn_graph` has 24 MB of device code among its constants.
const MOST_CONSTANTS: u64 = 8 << 20;

/// A library file, open for reading. Of what it is not or does not hold, it tells nothing.
pub struct Library {
    path: PathBuf,
    file: Elf,
}

impl Library {
    /// Opens a file; none where that is not possible.
    pub fn open(path: &Path) -> Option<Self> {
        Some(Self {
            path: path.to_path_buf(),
            file: Elf::open(path)?,
        })
    }

    /// Its size.
    pub fn length(&self) -> u64 {
        self.file.length()
    }

    /// The processor that it is for, as target triples call it.
    pub fn cpu(&self) -> Option<&'static str> {
        match self.file.machine()? {
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
        let length = self.length();
        if length == 0 {
            return Some(Flaw::Empty);
        }
        if !self.file.is_elf() {
            return Some(Flaw::foreign("an ELF library", &self.file.start.bytes));
        }
        if length < 64 {
            return Some(Flaw::CutOff("segments", 64, length));
        }
        let mut reach = self.file.segments_end()?;
        for segment in self.file.segments().unwrap_or_default() {
            if matches!(segment.kind, elf::PT_LOAD | elf::PT_DYNAMIC) {
                reach = reach.max(segment.offset.saturating_add(segment.size));
            }
        }
        (reach > length).then_some(Flaw::CutOff("segments", reach, length))
    }

    /// The release of a part and the symbol that told it: four bytes, patch, minor, major and 0, under a name such as
    /// `cudnn_graph_version`. Not every part has one.
    pub fn release(&self, part: &str) -> Option<(Version, String)> {
        let symbols = Symbols::of(&self.file)?;
        for symbol in [
            format!("cudnn_{part}_version"),
            format!("cudnn_{part}_infer_version"),
        ] {
            if let Some([patch, minor, major, 0]) = symbols.data(&symbol) {
                let version = Version::new(major.into(), minor.into(), patch.into());
                return Some((version, symbol));
            }
        }
        None
    }

    /// The linker's number for this very build, in hexadecimal.
    pub fn build_id(&self) -> Option<String> {
        // Not by the segment: in parts of 8.x that one leads astray.
        let section = self.file.named(".note.gnu.build-id")?;
        if section.size > 256 {
            return None;
        }
        let note = self.file.data(&section)?.bytes;
        let id = note
            .get(16..)
            .filter(|_| note.get(12..16) == Some(b"GNU\0"));
        Some(id?.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Whether the directories that it names itself are looked at before those of LD_LIBRARY_PATH: that is what
    /// DT_RPATH does, unless there is a DT_RUNPATH.
    pub fn own_first(&self) -> Option<bool> {
        let segments = self.file.segments()?;
        let dynamic = segments
            .iter()
            .find(|segment| segment.kind == elf::PT_DYNAMIC)?;
        let entries = self.file.dynamic(dynamic.offset, dynamic.size)?;
        let has = |wanted: u64| entries.iter().any(|(tag, _)| *tag == wanted);
        Some(has(elf::DT_RPATH) && !has(elf::DT_RUNPATH))
    }

    /// The file names of the libraries that it is linked with.
    pub fn needed(&self) -> Vec<String> {
        self.linked_with().unwrap_or_default()
    }

    fn linked_with(&self) -> Option<Vec<String>> {
        let sections = self.file.sections()?;
        let dynamic = sections
            .iter()
            .find(|section| section.kind == elf::SHT_DYNAMIC)?;
        let strings = self.file.data(sections.get(dynamic.link as usize)?)?;
        let (offset, size) = dynamic.range()?;
        let mut names = Vec::new();
        for (tag, value) in self.file.dynamic(offset, size)? {
            let name = u32::try_from(value).ok().and_then(|at| strings.string(at));
            if let (elf::DT_NEEDED, Some(name)) = (tag, name) {
                names.push(String::from_utf8_lossy(name).into_owned());
            }
        }
        Some(names)
    }

    /// What it takes from other libraries under the name of a version: the library's file name and the symbol.
    pub fn wants(&self) -> Vec<(String, Vec<u8>)> {
        let symbols = Symbols::of(&self.file);
        symbols
            .and_then(|symbols| symbols.wanted())
            .unwrap_or_default()
    }

    /// Those of the symbols that it does not define. None are lacking from a library that does not tell.
    pub fn lacks<'s>(&self, wanted: impl Iterator<Item = &'s [u8]>) -> Vec<String> {
        let Some(symbols) = Symbols::of(&self.file) else {
            return Vec::new();
        };
        wanted
            .filter(|name| !symbols.has(name))
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect()
    }

    /// The functions that others have to have for it, whatever library they are in.
    #[cfg(feature = "cli")]
    pub fn calls(&self) -> Vec<String> {
        crate::system::library_file::symbols::called(&self.file).unwrap_or_default()
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
        let sections = self.file.sections()?;
        let names = self.file.names(&sections);
        for section in &sections {
            // One whose name is not to be read may be it.
            if names.as_ref()?.string(section.name)? == b".nv_fatbin" {
                return section.range();
            }
        }
        Some((0, 0))
    }

    /// Where the section of constants is in the file, and its size, if that is no more than this.
    fn constants(&self, most: u64) -> Option<(u64, u64)> {
        let section = self.file.named(".rodata")?;
        section.range().filter(|(_, size)| *size <= most)
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
        cc.args(["-shared", "-fPIC", "-Wl,--build-id"]);
        cc.args(["-Wl,--hash-style=gnu", "-o"])
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
    fn a_library_tells_what_it_takes_and_what_it_has() {
        let path = compiled(
            "libcudnn_cnn.so.9",
            "char *getenv(const char *); void elsewhere(void); __attribute__((weak)) void perhaps(void);\n\
             char *first(void) { if (perhaps) elsewhere(); return getenv(\"A\"); }\n",
        );
        let library = Library::open(&path).unwrap();
        assert_eq!(library.needed(), ["libc.so.6"]);
        // What has no version may be in any library.
        let wants = library.wants();
        let getenv = ("libc.so.6".to_string(), b"getenv".to_vec());
        assert!(wants.contains(&getenv), "{wants:?}");
        assert!(!wants.iter().any(|(_, name)| name == b"elsewhere"));
        let asked = [&b"first"[..], b"getenv", b"", b"second"];
        assert_eq!(library.lacks(asked.into_iter()), ["getenv", "", "second"]);
        #[cfg(feature = "cli")]
        assert!(library.calls().contains(&"elsewhere".to_string()));
        #[cfg(feature = "cli")]
        assert!(!library.calls().contains(&"perhaps".to_string()));
        assert_eq!(library.device_code(), Some((0, 0)));
        assert_eq!(library.own_first(), Some(false));
        let id = library.build_id().unwrap();
        assert!(id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let mut whole = std::fs::read(&path).unwrap();
        // The other byte order: no processor that CUDA has; what is read off it is nonsense and does no harm.
        whole[5] = 2;
        std::fs::write(&path, &whole).unwrap();
        let library = Library::open(&path).unwrap();
        assert_eq!((library.cpu(), library.needed()), (None, Vec::new()));
    }

    /// Numbers in either byte order, and none beyond the end.
    #[test]
    fn a_table_is_read_in_its_own_byte_order() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-order-{}", std::process::id()));
        let mut bytes = vec![0; 64 + 56];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x02\x01");
        for (at, value) in [(39, 64), (55, 56), (57, 1), (67, 1), (64 + 39, 200)] {
            bytes[at] = value;
        }
        std::fs::write(&dir, &bytes).unwrap();
        let library = Library::open(&dir).unwrap();
        assert_eq!(library.flaw(), Some(Flaw::CutOff("segments", 200, 120)));
        bytes[5] = 1;
        std::fs::write(&dir, &bytes).unwrap();
        let reach = match Library::open(&dir).unwrap().flaw() {
            Some(Flaw::CutOff(_, reach, 120)) => reach,
            _ => 0,
        };
        assert_eq!(reach, (64 << 56) + (56 << 8) * (1 << 8));
        std::fs::remove_file(&dir).unwrap();
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
