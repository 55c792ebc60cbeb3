//! Reads the dynamic linking information and the guard's records of a program or library.

use crate::model::Linkage;
use crate::runtime::binary::{Defect, Elf, Pe, contains_word, cpu_name};
use crate::runtime::facts::{Built, record};
use crate::runtime::system::path_cache;
use crate::system::{Binary, files};
use std::env::consts::ARCH;
use std::path::Path;

/// Reads an ELF or PE file.
pub fn read(path: &Path) -> Result<Linkage, Defect> {
    path_cache::once("program", path, || match Binary::recognize(path)? {
        Binary::Elf(elf) => from_elf(&elf),
        Binary::Pe(pe) => Ok(from_pe(&pe)),
    })
}

/// Returns the read-only data of a program or library.
fn constants(path: &Path) -> Vec<Vec<u8>> {
    match Binary::recognize(path) {
        Ok(Binary::Elf(elf)) => elf.constants(u64::MAX).into_iter().collect(),
        Ok(Binary::Pe(pe)) => pe.read_only(),
        Err(_) => Vec::new(),
    }
}

/// Returns `true` if the constants of a program or library contain this word in one of the encodings of its system.
pub fn mentions(path: &Path, word: &str) -> bool {
    let wide: Vec<u8> = word.bytes().flat_map(|byte| [byte, 0]).collect();
    let parts = constants(path);
    let mut parts = parts.iter();
    parts.any(|part| contains_word(part, word.as_bytes()) || contains_word(part, &wide))
}

/// Returns the guard records of the crates in a program, without duplicates.
pub fn records(path: &Path) -> Vec<Built> {
    path_cache::once("records", path, || {
        let parts = constants(path);
        files::dedup(parts.iter().flat_map(|part| record::find(part)))
    })
}

/// Reads an ELF file, if it is a 64-bit, little-endian one.
pub fn from_elf(elf: &Elf) -> Result<Linkage, Defect> {
    if !elf.is_64_bit_le {
        return Err(Defect::Class(ARCH.into()));
    }
    let machine = elf.machine().ok_or(Defect::Garbled)?;
    Ok(Linkage {
        is_pe: false,
        cpu: cpu_name(machine).map_or_else(
            || format!("the CPU with ELF machine number {machine}"),
            String::from,
        ),
        soname: elf.soname(),
        needed: elf.needed(),
        delayed: Vec::new(),
        rpath: elf.rpath(),
        runpath: elf.runpath(),
        nodeflib: elf.is_nodeflib(),
        interpreter: elf.interpreter(),
        needed_versions: elf.needed_versions(),
        defined_versions: elf.versions(),
    })
}

pub fn from_pe(pe: &Pe) -> Linkage {
    Linkage {
        is_pe: true,
        cpu: pe.cpu().unwrap_or("an unknown CPU").into(),
        needed: pe.needs(),
        delayed: pe.delays(),
        ..Linkage::default()
    }
}
