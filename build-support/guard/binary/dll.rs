//! A DLL that a process of this program can load.

use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::pe::Pe;
use std::env::consts::ARCH;
use std::ops::Deref;
use std::path::{Path, PathBuf};

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

    // What an ELF file tells of itself and a DLL does not.

    /// None: a DLL is known by the name of its file.
    pub fn soname(&self) -> Option<String> {
        None
    }

    /// None.
    pub fn build_id(&self) -> Option<String> {
        None
    }

    /// None: what it opens is looked for where the program looks.
    pub fn folders(&self, _path: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// None.
    pub fn rpath_first(&self) -> Option<bool> {
        None
    }
}
