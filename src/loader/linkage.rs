//! Reads what a program or library asks the loader for, and what a guard left in it.

use crate::model::file_defect::Flaw;
use crate::model::linkage::{Format, Linkage};
use crate::model::record::{SECTION, texts};
use crate::system::library_file::elf_library::Library;
use crate::system::library_file::pe::Dll;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::StringTable;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, ReadCache, ReadRef};
use std::fs::File;
use std::path::Path;

type Bytes<'a> = &'a ReadCache<File>;

/// What the file says; else why it is neither ELF nor PE, or that it cannot be read.
pub fn read(path: &Path) -> Result<Linkage, Option<Flaw>> {
    with_file(
        path,
        |kind| kind.linkage(),
        |dll| Linkage {
            format: Format::Pe,
            cpu: dll.cpu().unwrap_or("an unknown processor").into(),
            is_usual: true,
            needed: dll.needs(),
            delayed: dll.delays(),
            ..Linkage::default()
        },
    )
}

/// The facts that guards left in a program.
pub fn records(path: &Path) -> Vec<String> {
    let found = with_file(path, |kind| kind.section(), |dll| dll.section(SECTION));
    texts(&found.ok().flatten().unwrap_or_default())
}

/// An ELF file of either word size.
enum Kind<'a> {
    Wide(Elf<'a, FileHeader64<Endianness>>),
    Narrow(Elf<'a, FileHeader32<Endianness>>),
}

struct Elf<'a, H: FileHeader> {
    header: &'a H,
    endian: Endianness,
    file: Bytes<'a>,
}

fn with_file<T>(
    path: &Path,
    of_elf: impl Fn(Kind<'_>) -> T,
    of_dll: impl Fn(&Dll) -> T,
) -> Result<T, Option<Flaw>> {
    let library = Library::open(path).ok_or(None)?;
    match library.flaw() {
        None => {}
        Some(Flaw::Foreign(..)) => {
            let dll = Dll::open(path).ok_or(None)?;
            return match dll.flaw() {
                None => Ok(of_dll(&dll)),
                flaw => Err(flaw),
            };
        }
        flaw => return Err(flaw),
    }
    let file = ReadCache::new(File::open(path).map_err(|_| None)?);
    let file = &file;
    if let Ok(header) = FileHeader64::<Endianness>::parse(file) {
        let endian = header.endian().map_err(|_| None)?;
        return Ok(of_elf(Kind::Wide(Elf {
            header,
            endian,
            file,
        })));
    }
    let header = FileHeader32::<Endianness>::parse(file).map_err(|_| None)?;
    let endian = header.endian().map_err(|_| None)?;
    Ok(of_elf(Kind::Narrow(Elf {
        header,
        endian,
        file,
    })))
}

impl Kind<'_> {
    fn linkage(self) -> Linkage {
        match self {
            Kind::Wide(elf) => elf.linkage(elf.endian == Endianness::Little),
            Kind::Narrow(elf) => elf.linkage(false),
        }
    }

    fn section(self) -> Option<Vec<u8>> {
        match self {
            Kind::Wide(elf) => elf.section(),
            Kind::Narrow(elf) => elf.section(),
        }
    }
}

impl<'a, H: FileHeader<Endian = Endianness>> Elf<'a, H> {
    fn linkage(&self, is_usual: bool) -> Linkage {
        let mut linkage = Linkage {
            cpu: cpu(self.header.e_machine(self.endian)),
            is_usual,
            ..Linkage::default()
        };
        // Of damaged tables, nothing is told.
        let _ = self.dynamic(&mut linkage);
        let _ = self.versions(&mut linkage);
        linkage
    }

    /// As the loader reads it: by segments, since a program may have no sections any more.
    fn dynamic(&self, linkage: &mut Linkage) -> Option<()> {
        let (endian, file) = (self.endian, self.file);
        let segments = self.header.program_headers(endian, file).ok()?;
        let named = segments
            .iter()
            .find_map(|segment| segment.interpreter(endian, file).ok()?);
        linkage.interpreter = named.map(text);
        let entries = segments
            .iter()
            .find_map(|segment| segment.dynamic(endian, file).ok()?)?;
        let value = |tag: u32| {
            let mut entries = entries.iter();
            let entry = entries.find(|entry| entry.d_tag(endian).into() == u64::from(tag))?;
            Some(entry.d_val(endian).into())
        };
        linkage.shuns_system =
            value(elf::DT_FLAGS_1).is_some_and(|flags| flags & u64::from(elf::DF_1_NODEFLIB) != 0);
        let (address, size) = (value(elf::DT_STRTAB)?, value(elf::DT_STRSZ)?);
        let place = segments.iter().find_map(|segment| {
            let inside = address.checked_sub(segment.p_vaddr(endian).into())?;
            let (offset, length) = segment.file_range(endian);
            let fits = segment.p_type(endian) == elf::PT_LOAD
                && inside.checked_add(size).is_some_and(|end| end <= length);
            fits.then(|| offset.checked_add(inside)).flatten()
        })?;
        let strings = StringTable::new(file, place, place.checked_add(size)?);
        let string = |at: u64| Some(text(strings.get(at.try_into().ok()?).ok()?));
        let needed = entries
            .iter()
            .take_while(|entry| entry.d_tag(endian).into() != 0);
        linkage.needed = needed
            .filter(|entry| entry.d_tag(endian).into() == u64::from(elf::DT_NEEDED))
            .filter_map(|entry| string(entry.d_val(endian).into()))
            .collect();
        linkage.soname = value(elf::DT_SONAME).and_then(string);
        linkage.runpath = value(elf::DT_RUNPATH).and_then(string);
        linkage.rpath = value(elf::DT_RPATH)
            .and_then(string)
            .filter(|_| linkage.runpath.is_none());
        Some(())
    }

    fn versions(&self, linkage: &mut Linkage) -> Option<()> {
        let (endian, file) = (self.endian, self.file);
        let sections = self.header.sections(endian, file).ok()?;
        if let Some((mut definitions, strings)) = sections.gnu_verdef(endian, file).ok()? {
            let strings = sections.strings(endian, file, strings).ok()?;
            while let Some((_, mut names)) = definitions.next().ok()? {
                if let Some(name) = names.next().ok()? {
                    linkage.has.push(text(name.name(endian, strings).ok()?));
                }
            }
        }
        if let Some((mut needs, strings)) = sections.gnu_verneed(endian, file).ok()? {
            let strings = sections.strings(endian, file, strings).ok()?;
            while let Some((need, mut versions)) = needs.next().ok()? {
                let mut wanted = Vec::new();
                while let Some(version) = versions.next().ok()? {
                    // What is weak may be missing.
                    if version.vna_flags.get(endian) & elf::VER_FLG_WEAK == 0 {
                        wanted.push(text(version.name(endian, strings).ok()?));
                    }
                }
                let from = text(need.file(endian, strings).ok()?);
                linkage.wants.push((from, wanted));
            }
        }
        Some(())
    }

    fn section(&self) -> Option<Vec<u8>> {
        let sections = self.header.sections(self.endian, self.file).ok()?;
        let (_, section) = sections.section_by_name(self.endian, SECTION.as_bytes())?;
        let (offset, size) = section.file_range(self.endian)?;
        let bytes = self.file.read_bytes_at(offset, size.min(1 << 20));
        bytes.ok().map(<[u8]>::to_vec)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn cpu(machine: u16) -> String {
    match machine {
        elf::EM_X86_64 => "x86_64".into(),
        elf::EM_AARCH64 => "aarch64".into(),
        elf::EM_386 => "i686".into(),
        elf::EM_ARM => "arm".into(),
        elf::EM_PPC64 => "powerpc64le".into(),
        elf::EM_RISCV => "riscv64".into(),
        other => format!("the processor with ELF number {other}"),
    }
}
