//! A library file in the format of the target system.

#[cfg(test)]
pub mod made_dll;
#[cfg(test)]
mod pe_tests;

use crate::model::{Os, Platform};
use crate::runtime::binary::{Defect, Elf, Pe};
use crate::runtime::facts::SourcedVersion;
use std::path::Path;

/// An open library file.
pub enum Binary {
    Elf(Elf),
    Pe(Pe),
}

/// Evaluates an expression for a file of either format.
macro_rules! either {
    ($binary:expr, $file:ident => $value:expr) => {
        match $binary {
            Binary::Elf($file) => $value,
            Binary::Pe($file) => $value,
        }
    };
}

impl Binary {
    /// Opens a file of the target system's format.
    pub fn open(path: &Path, os: Os) -> Result<Self, Defect> {
        match os {
            Os::Windows => Pe::read(path).map(Binary::Pe),
            _ => Elf::read(path).map(Binary::Elf),
        }
    }

    /// Opens a program or library of either format.
    #[cfg(feature = "cli")]
    pub fn recognize(path: &Path) -> Result<Self, Defect> {
        let elf = Elf::read(path)?;
        match elf.defect() {
            None => Ok(Binary::Elf(elf)),
            Some(Defect::Foreign(..)) => {
                let pe = Pe::read(path)?;
                pe.defect().map_or(Ok(Binary::Pe(pe)), Err)
            }
            Some(defect) => Err(defect),
        }
    }

    pub fn length(&self) -> u64 {
        either!(self, file => file.length())
    }

    /// Returns the architecture as in target triples.
    pub fn cpu(&self) -> Option<&'static str> {
        either!(self, file => file.cpu())
    }

    /// Returns the defect of the file. A `libcudnn.so` without a number may be a linker script, which is not one.
    pub fn defect(&self, path: &Path, platform: &Platform) -> Option<Defect> {
        let script = path.extension().is_some_and(|end| end == "so");
        match either!(self, file => file.defect()) {
            Some(Defect::Foreign(..)) if script => None,
            Some(defect) => Some(defect),
            None => {
                let cpu = self.cpu().filter(|cpu| *cpu != platform.cpu)?;
                let own = platform.cpu.clone();
                Some(match self {
                    Binary::Elf(elf) => Defect::Machine(elf.machine()?, own),
                    Binary::Pe(_) => Defect::Cpu(cpu, own),
                })
            }
        }
    }

    /// Returns the version of a sub-library that the file contains.
    pub fn release(&self, part: &str) -> Option<SourcedVersion> {
        either!(self, file => file.release(part))
    }

    /// Returns the ELF file. A DLL has no build ID, no SONAME and no search paths.
    pub fn as_elf(&self) -> Option<&Elf> {
        either!(self, file => file.as_elf())
    }

    /// Returns the CUDA major that a sub-library was built for.
    pub fn cuda_major(&self) -> Option<u32> {
        either!(self, file => file.cuda_major())
    }

    /// Returns the offset and the size of the device code, which is 0 if there is none.
    #[cfg(feature = "cli")]
    pub fn device_code(&self) -> Option<(u64, u64)> {
        either!(self, file => file.device_code())
    }

    /// Returns `size` bytes of the file from `offset` on, if it is long enough.
    #[cfg(feature = "cli")]
    pub fn bytes(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        either!(self, file => file.bytes(offset, size))
    }

    /// Returns the imports: the file name of the other library, and the symbol.
    pub fn named_imports(&self) -> Vec<(String, Vec<u8>)> {
        either!(self, file => file.named_imports())
    }

    /// Returns the symbols that the file does not define. Empty if it has no symbol table.
    pub fn missing_symbols<'s>(&self, symbols: impl Iterator<Item = &'s [u8]>) -> Vec<String> {
        either!(self, file => file.missing_symbols(symbols))
    }
}
