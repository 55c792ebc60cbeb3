//! A library file in the format of the target system.

#[cfg(test)]
pub mod made_dll;
#[cfg(test)]
mod pe_tests;

use crate::model::platform::{Os, Platform};
use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::elf::Elf;
use crate::runtime::binary::pe::Pe;
use crate::runtime::facts::version_source::SourcedVersion;
use std::path::Path;

/// A library file, open for reading. Of what it is not or does not hold, it tells nothing.
pub enum Binary {
    /// For Linux.
    Elf(Elf),
    /// For Windows.
    Pe(Pe),
}

impl Binary {
    /// Opens a file as the system has it that is built for; else why that is not possible.
    pub fn open(path: &Path, os: Os) -> Result<Self, Defect> {
        #[cfg(test)]
        crate::system::files::opened::note(path);
        match os {
            Os::Windows => Pe::read(path).map(Binary::Pe),
            _ => Elf::read(path).map(Binary::Elf),
        }
    }

    /// Opens a program or a library by what it is; else why it is neither, or none if it cannot be read.
    #[cfg(feature = "cli")]
    pub fn recognise(path: &Path) -> Result<Self, Option<Defect>> {
        let elf = Elf::read(path).map_err(|_| None)?;
        match elf.defect() {
            None => Ok(Binary::Elf(elf)),
            Some(Defect::Foreign(..)) => {
                let pe = Pe::read(path).map_err(|_| None)?;
                pe.defect()
                    .map_or(Ok(Binary::Pe(pe)), |defect| Err(Some(defect)))
            }
            defect => Err(defect),
        }
    }

    /// Returns its size.
    pub fn length(&self) -> u64 {
        match self {
            Binary::Elf(elf) => elf.length(),
            Binary::Pe(pe) => pe.length(),
        }
    }

    /// Returns the CPU that it is for, as target triples call it.
    pub fn cpu(&self) -> Option<&'static str> {
        match self {
            Binary::Elf(elf) => elf.cpu(),
            Binary::Pe(pe) => pe.cpu(),
        }
    }

    /// Returns its defect. A `libcudnn.so` without a number may be a script for the linker.
    pub fn defect(&self, path: &Path, platform: &Platform) -> Option<Defect> {
        let script = path.extension().is_some_and(|end| end == "so");
        let defect = match self {
            Binary::Elf(elf) => elf.defect(),
            Binary::Pe(pe) => pe.defect(),
        };
        match defect {
            Some(Defect::Foreign(..)) if script => None,
            Some(defect) => Some(defect),
            None => {
                let cpu = self.cpu().filter(|cpu| *cpu != platform.cpu);
                cpu.map(Defect::Cpu)
            }
        }
    }

    /// Returns the version of a sub-library that the file contains.
    pub fn release(&self, part: &str) -> Option<SourcedVersion> {
        match self {
            Binary::Elf(elf) => elf.release(part),
            Binary::Pe(pe) => pe.release(part),
        }
    }

    /// Returns the ELF file: a DLL has no build ID, no SONAME and no directories of its own.
    pub fn as_elf(&self) -> Option<&Elf> {
        match self {
            Binary::Elf(elf) => Some(elf),
            Binary::Pe(_) => None,
        }
    }

    /// Returns the CUDA major that a sub-library was built for.
    pub fn cuda_major(&self) -> Option<u32> {
        match self {
            Binary::Elf(elf) => elf.cuda_major(),
            Binary::Pe(pe) => pe.cuda_major(),
        }
    }

    /// Returns the place of its device code in the file and the size of that: 0 if it has none.
    #[cfg(feature = "cli")]
    pub fn device_code(&self) -> Option<(u64, u64)> {
        match self {
            Binary::Elf(elf) => elf.device_code(),
            Binary::Pe(pe) => pe.device_code(),
        }
    }

    /// Returns `size` bytes of the file from `offset` on, if it has as many.
    #[cfg(feature = "cli")]
    pub fn bytes(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        match self {
            Binary::Elf(elf) => elf.bytes(offset, size),
            Binary::Pe(pe) => pe.bytes(offset, size),
        }
    }

    /// Returns its imports: the file name of the other library and the symbol.
    pub fn named_imports(&self) -> Vec<(String, Vec<u8>)> {
        match self {
            Binary::Elf(elf) => elf.named_imports(),
            Binary::Pe(pe) => pe.named_imports(),
        }
    }

    /// Returns those of the symbols that it does not define; none if it does not tell its symbols.
    pub fn missing_symbols<'s>(&self, wanted: impl Iterator<Item = &'s [u8]>) -> Vec<String> {
        match self {
            Binary::Elf(elf) => elf.missing_symbols(wanted),
            Binary::Pe(pe) => pe.missing_symbols(wanted),
        }
    }
}
