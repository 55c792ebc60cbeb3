//! A DLL that a process of this program can load.

use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::elf::Elf;
use crate::runtime::binary::pe::Pe;
use std::env::consts::ARCH;
use std::ops::Deref;
use std::path::Path;

/// Its file, which is whole and for this processor.
pub struct Dll {
    pe: Pe,
}

impl Deref for Dll {
    type Target = Pe;

    fn deref(&self) -> &Pe {
        &self.pe
    }
}

impl Dll {
    /// Opens it; the defect says why Windows would refuse it.
    pub fn open(path: &Path) -> Result<Self, Defect> {
        let pe = Pe::read(path)?;
        match (pe.defect(), pe.cpu()) {
            (Some(defect), _) => Err(defect),
            (None, Some(cpu)) if cpu != ARCH => Err(Defect::Cpu(cpu)),
            _ => Ok(Self { pe }),
        }
    }

    /// It is none, and has no SONAME, no build-id and no folders of its own.
    pub fn as_elf(&self) -> Option<&Elf> {
        None
    }
}
