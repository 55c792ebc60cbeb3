//! Reads what a program or library asks the loader for, and what a guard left in it.

use crate::model::linkage::{Format, Linkage};
use crate::model::record::{SECTION, texts};
use crate::runtime::binary::defect::{Defect, cpu_name};
use crate::runtime::binary::elf::Elf;
use crate::runtime::binary::pe::Pe;
use crate::system::library_file::Binary;
use std::path::Path;

/// More than the facts of many guards.
const MOST_RECORDS: u64 = 1 << 20;

/// What the file says; else why it is neither ELF nor PE, or that it cannot be read.
pub fn read(path: &Path) -> Result<Linkage, Option<Defect>> {
    match Binary::recognise(path)? {
        Binary::Elf(elf) => of_elf(&elf).ok_or(None),
        Binary::Pe(pe) => Ok(of_pe(&pe)),
    }
}

/// The facts that guards left in a program.
pub fn records(path: &Path) -> Vec<String> {
    let section = || {
        let file = Binary::recognise(path).ok()?;
        let (offset, size) = file.section(SECTION)?;
        file.bytes(offset, size.min(MOST_RECORDS))
    };
    texts(&section().unwrap_or_default())
}

/// None where the head is not one of an ELF file that is known.
fn of_elf(elf: &Elf) -> Option<Linkage> {
    let machine = elf.machine()?;
    Some(Linkage {
        format: Format::Elf,
        cpu: cpu_name(machine).map_or_else(
            || format!("the processor with ELF number {machine}"),
            String::from,
        ),
        is_usual: elf.is_usual()?,
        soname: elf.soname(),
        needed: elf.needed(),
        delayed: Vec::new(),
        rpath: elf.rpath(),
        runpath: elf.runpath(),
        shuns_system: elf.shuns_system(),
        interpreter: elf.interpreter(),
        wants: elf.needed_versions(),
        has: elf.versions(),
    })
}

fn of_pe(pe: &Pe) -> Linkage {
    Linkage {
        format: Format::Pe,
        cpu: pe.cpu().unwrap_or("an unknown processor").into(),
        is_usual: true,
        needed: pe.needs(),
        delayed: pe.delays(),
        ..Linkage::default()
    }
}
