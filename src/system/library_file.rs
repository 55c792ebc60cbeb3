//! A library file, of whichever format the system has.

pub mod elf;
pub mod elf_library;
pub mod pe;
pub mod symbols;

use crate::model::file_defect::Flaw;
use crate::model::platform::{Os, Platform};
use crate::model::version::Version;
use crate::model::version_source::VersionSource;
use crate::system::library_file::elf_library::Library;
use crate::system::library_file::pe::Dll;
use std::path::Path;

/// A library file, open for reading. Of what it is not or does not hold, it tells nothing.
pub enum Binary {
    /// For Linux.
    Elf(Library),
    /// For Windows.
    Dll(Dll),
}

impl Binary {
    /// Opens a file as the system has it that is built for; none where that is not possible.
    pub fn open(path: &Path, os: Os) -> Option<Self> {
        match os {
            Os::Windows => Dll::open(path).map(Binary::Dll),
            _ => Library::open(path).map(Binary::Elf),
        }
    }

    /// Its size.
    pub fn length(&self) -> u64 {
        match self {
            Binary::Elf(library) => library.length(),
            Binary::Dll(dll) => dll.length(),
        }
    }

    /// The processor that it is for, as target triples call it.
    pub fn cpu(&self) -> Option<&'static str> {
        match self {
            Binary::Elf(library) => library.cpu(),
            Binary::Dll(dll) => dll.cpu(),
        }
    }

    /// What is wrong with it. A `libcudnn.so` without a number may be a script for the linker.
    pub fn flaw(&self, path: &Path, platform: &Platform) -> Option<Flaw> {
        let script = path.extension().is_some_and(|end| end == "so");
        let flaw = match self {
            Binary::Elf(library) => library.flaw(),
            Binary::Dll(dll) => dll.flaw(),
        };
        match flaw {
            Some(Flaw::Foreign(..)) if script => None,
            Some(flaw) => Some(flaw),
            None => self.cpu().filter(|cpu| *cpu != platform.cpu).map(Flaw::Cpu),
        }
    }

    /// The release of a part, and what in the file told it.
    pub fn release(&self, part: &str) -> Option<(Version, VersionSource)> {
        match self {
            Binary::Elf(library) => {
                let (version, symbol) = library.release(part)?;
                Some((version, VersionSource::Symbol(symbol)))
            }
            Binary::Dll(dll) => dll.release(part),
        }
    }

    /// The linker's number for this very build, in hexadecimal.
    pub fn build_id(&self) -> Option<String> {
        match self {
            Binary::Elf(library) => library.build_id(),
            Binary::Dll(_) => None,
        }
    }

    /// Whether the directories that it names itself come before those of the environment. A DLL names none.
    pub fn own_first(&self) -> Option<bool> {
        match self {
            Binary::Elf(library) => library.own_first(),
            Binary::Dll(_) => None,
        }
    }

    /// The CUDA major that a part was built for.
    pub fn cuda_major(&self) -> Option<u32> {
        match self {
            Binary::Elf(library) => library.cuda_major(),
            Binary::Dll(dll) => dll.cuda_major(),
        }
    }

    /// Where its device code is in the file, and the size of that: 0 if it has none.
    pub fn device_code(&self) -> Option<(u64, u64)> {
        match self {
            Binary::Elf(library) => library.device_code(),
            Binary::Dll(dll) => dll.device_code(),
        }
    }

    /// What it takes from other libraries: the file name and the symbol.
    pub fn wants(&self) -> Vec<(String, Vec<u8>)> {
        match self {
            Binary::Elf(library) => library.wants(),
            Binary::Dll(dll) => dll.wants(),
        }
    }

    /// Those of the symbols that it does not define. None are lacking from a library that does not tell.
    pub fn lacks<'s>(&self, wanted: impl Iterator<Item = &'s [u8]>) -> Vec<String> {
        match self {
            Binary::Elf(library) => library.lacks(wanted),
            Binary::Dll(dll) => dll.lacks(wanted),
        }
    }
}
