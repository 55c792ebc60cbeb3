//! What a library file says of itself, without running it and without reading all of its 500 megabytes.

use super::files::read_at;
use crate::model::version::Version;
use object::elf::{self, FileHeader64, SHT_DYNSYM, SHT_GNU_HASH};
use object::read::elf::{FileHeader, GnuHashTable, SectionHeader, Sym, VersionTable};
use object::{Endianness, ReadCache, ReadRef};
use std::fs::File;
use std::io::BufRead;
use std::path::Path;

/// The release of a part and the symbol that told it: four bytes, patch, minor, major and 0, under a name such as
/// `cudnn_graph_version`. Not every part has one.
pub fn release(path: &Path, part: &str) -> Option<(Version, String)> {
    let library = Library::open(path)?;
    for symbol in [
        format!("cudnn_{part}_version"),
        format!("cudnn_{part}_infer_version"),
    ] {
        if let Some(&[patch, minor, major, 0]) = library.data(&symbol, 4) {
            let version = Version::new(major.into(), minor.into(), patch.into());
            return Some((version, symbol));
        }
    }
    None
}

/// The processor that a library is for, as target triples call it.
pub fn cpu(path: &Path) -> Option<&'static str> {
    let library = Library::open(path)?;
    let (endian, header) = library.header()?;
    match header.e_machine(endian) {
        elf::EM_X86_64 => Some("x86_64"),
        elf::EM_AARCH64 => Some("aarch64"),
        _ => None,
    }
}

/// The CUDA major that a part was built for: it opens `libcublasLt.so.N` by that name.
pub fn cuda_major(path: &Path) -> Option<u32> {
    let library = Library::open(path)?;
    let (offset, size) = library.constants()?;
    let text = read_at(&mut File::open(path).ok()?, offset, size)?;
    let mut rest = text.as_slice();
    // `skip_until` comes compiled with optimisation; a loop over bytes in a build script does not.
    while rest.skip_until(b'L').is_ok_and(|skipped| skipped > 0) && !rest.is_empty() {
        let before = &text[..text.len() - rest.len()];
        if let (true, Some(tail)) = (before.ends_with(b"libcublasL"), rest.strip_prefix(b"t.so.")) {
            let digits = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = std::str::from_utf8(&tail[..digits]).ok();
            if let Some(major) = number.and_then(|digits| digits.parse().ok()) {
                return Some(major);
            }
        }
    }
    None
}

/// More than any part has whose strings name cublasLt; `libcudnn_graph` has 24 MB of device code among its constants.
const MOST_CONSTANTS: u64 = 8 << 20;

struct Library {
    file: ReadCache<File>,
}

impl Library {
    fn open(path: &Path) -> Option<Self> {
        let file = ReadCache::new(File::open(path).ok()?);
        Some(Self { file })
    }

    fn header(&self) -> Option<(Endianness, &FileHeader64<Endianness>)> {
        let header = FileHeader64::<Endianness>::parse(&self.file).ok()?;
        Some((header.endian().ok()?, header))
    }

    /// The bytes that a data symbol stands for, if this library defines it.
    fn data(&self, name: &str, size: u64) -> Option<&[u8]> {
        let (endian, header) = self.header()?;
        let sections = header.sections(endian, &self.file).ok()?;
        let symbols = sections.symbols(endian, &self.file, SHT_DYNSYM).ok()?;
        let hashes = sections
            .iter()
            .find(|section| section.sh_type(endian) == SHT_GNU_HASH)?;
        let bytes = hashes.data(endian, &self.file).ok()?;
        let head = hashes.gnu_hash_header(endian, &self.file).ok()??;
        // With these numbers the look-up would divide by nothing or shift too far: a damaged file.
        let shift = head.bloom_shift.get(endian);
        if head.bucket_count.get(endian) == 0 || head.bloom_count.get(endian) == 0 || shift > 31 {
            return None;
        }
        let table = GnuHashTable::<FileHeader64<Endianness>>::parse(endian, bytes).ok()?;
        let hash = elf::gnu_hash(name.as_bytes());
        let versions = VersionTable::default();
        let (_, symbol) = table.find(endian, name.as_bytes(), hash, None, &symbols, &versions)?;
        let index = usize::from(symbol.st_shndx(endian));
        let section = sections.iter().nth(index).filter(|_| index != 0)?;
        let inside = symbol
            .st_value(endian)
            .checked_sub(section.sh_addr(endian))?;
        if inside.checked_add(size)? > section.sh_size(endian) {
            return None;
        }
        let offset = section.sh_offset(endian).checked_add(inside)?;
        (&self.file).read_bytes_at(offset, size).ok()
    }

    /// Where the section of constants is in the file, and its size.
    fn constants(&self) -> Option<(u64, u64)> {
        let (endian, header) = self.header()?;
        let sections = header.sections(endian, &self.file).ok()?;
        let (_, section) = sections.section_by_name(endian, b".rodata")?;
        if section.sh_size(endian) > MOST_CONSTANTS {
            return None;
        }
        section.file_range(endian)
    }
}

#[cfg(test)]
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
        assert_eq!(release(&path, "ops"), told);
        assert_eq!(release(&path, "graph"), None);
        assert_eq!(cuda_major(&path), Some(13));
        let path = compiled(
            "libcudnn_adv.so.9",
            "const char *f(void) { return \"L libcublasLt.so\"; }\n",
        );
        assert_eq!(cuda_major(&path), None);
        assert_eq!(release(&path, "adv"), None);
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
            assert_eq!(
                (release(&path, "graph"), cuda_major(&path)),
                (None, None),
                "{length}"
            );
        }
        for place in (0..whole.len()).step_by(7) {
            let mut bent = whole.clone();
            bent[place] = !bent[place];
            std::fs::write(&path, &bent).unwrap();
            let _ = (release(&path, "graph"), cuda_major(&path));
        }
        std::fs::remove_file(&path).unwrap();
    }
}
