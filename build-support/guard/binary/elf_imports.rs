//! The symbols that an ELF file requires of other files, for an inspection.

use crate::runtime::binary::elf::DT_FLAGS_1;
use crate::runtime::binary::{Elf, number};
use std::collections::BTreeMap;
use std::rc::Rc;

const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_PLTRELSZ: u64 = 2;
const DT_JMPREL: u64 = 23;
const DF_1_NOW: u64 = 1;
/// The size of a relocation.
const RELA: usize = 24;
/// `R_X86_64_JUMP_SLOT` and `R_AARCH64_JUMP_SLOT`: the loader may wait until the function is called.
const JUMP_SLOTS: [u64; 2] = [7, 1026];

/// A symbol that is not optional.
#[derive(Clone)]
pub struct Import {
    /// Its number in the table of symbols.
    pub index: u64,
    pub name: String,
    /// The file name of the library that must define it, and its version there.
    pub version: Option<Rc<(String, String)>>,
}

impl Elf {
    /// Returns the imports, or `None` if the file is damaged or has no table of symbols.
    pub fn imports(&self) -> Option<Vec<Import>> {
        let mut versions = BTreeMap::new();
        for needed in self.version_needs().unwrap_or_default() {
            for version in needed.versions {
                versions.insert(version.number, Rc::new((needed.file.clone(), version.name)));
            }
        }
        let mut imports = Vec::new();
        self.each_symbol(&mut |symbol, name| {
            if !symbol.is_defined && !symbol.is_weak {
                let number = self.version_number(symbol.index);
                imports.push(Import {
                    index: symbol.index,
                    name,
                    version: number.and_then(|number| versions.get(&number).cloned()),
                });
            }
        })?;
        Some(imports)
    }

    /// Returns the symbols that the loader binds, by their numbers. The value is `true` if it binds the symbol when it
    /// loads the file, and `false` if it binds the symbol when the program calls it.
    pub fn bindings(&self) -> BTreeMap<u64, bool> {
        let is_now = self.dynamic_value(DT_FLAGS_1).unwrap_or(0) & DF_1_NOW != 0;
        let mut bindings = BTreeMap::new();
        for (table, size) in [(DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)] {
            let place = self.dynamic_value(table).zip(self.dynamic_value(size));
            let rows = place.and_then(|(at, size)| self.entry(at, size));
            for row in rows.unwrap_or_default().chunks_exact(RELA) {
                if let (Some(kind), Some(symbol)) = (number(row, 8, 4), number(row, 12, 4)) {
                    *bindings.entry(symbol).or_default() |= is_now || !JUMP_SLOTS.contains(&kind);
                }
            }
        }
        bindings
    }
}
