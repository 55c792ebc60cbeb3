//! The dynamic symbols of an ELF file, one after the other.

use crate::runtime::binary::elf::lossy;
use crate::runtime::binary::elf_versions::{MOST_LETTERS, MOST_SYMBOLS, spend};
use crate::runtime::binary::{Elf, SYMBOL, Symbol};

const SHT_DYNSYM: u64 = 11;

impl Elf {
    /// Returns the functions that it exports for programs, or `None` if it is damaged. Weak ones belong to C++ code that
    /// each program contains too, and linkers add the two others to every library.
    pub fn functions(&self) -> Option<Vec<String>> {
        let mut functions = Vec::new();
        self.each_symbol(&mut |symbol, name| {
            let is_own = !symbol.is_weak && name != "_init" && name != "_fini";
            if symbol.is_defined && symbol.is_function && is_own {
                functions.push(name);
            }
        })?;
        Some(functions)
    }

    /// Reads the section, not the hash table: a program that defines nothing has an empty hash table, which does not
    /// show the number of symbols.
    pub fn each_symbol(&self, with: &mut dyn FnMut(Symbol, String)) -> Option<()> {
        let sections = self.sections()?;
        let table = sections.iter().find(|one| one.kind == SHT_DYNSYM)?;
        let count = table.size / SYMBOL;
        let mut letters = MOST_LETTERS;
        for index in 1..count.min(MOST_SYMBOLS) {
            let Some(symbol) = self.symbol(index) else {
                break;
            };
            if let Some(name) = self.name(symbol.name) {
                spend(&mut letters, name.len())?;
                with(symbol, lossy(name));
            }
        }
        Some(())
    }
}
