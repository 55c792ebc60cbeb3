//! Programs, libraries and package files, read as bytes. None of their code runs.

pub mod bounded_file;
pub mod cuda_sections;
pub mod defect;
#[cfg(feature = "runtime")]
#[cfg(feature = "build")]
pub mod device_code;
pub mod elf;
#[cfg(feature = "build")]
pub mod elf_exports;
#[cfg(all(feature = "build", feature = "runtime"))]
pub mod elf_imports;
pub mod elf_sections;
pub mod elf_symbols;
#[cfg(feature = "build")]
pub mod elf_versions;
pub mod ld_so_cache;
#[cfg(any(windows, feature = "build"))]
pub mod pe;

use std::io::BufRead;

/// The file format of this system's libraries.
#[cfg(not(windows))]
pub use self::elf::Elf as Image;
#[cfg(windows)]
pub use self::pe::Pe as Image;
pub use bounded_file::{BoundedFile, files_in, files_named};
pub use defect::{Defect, cpu_name, is_absent};
pub use elf::Elf;
pub use elf_symbols::{SYMBOL, Symbol};
pub use ld_so_cache::{CACHE, lib_folders};
#[cfg(any(windows, feature = "build"))]
pub use pe::Pe;

/// Reads a little-endian number of up to eight bytes.
pub fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let mut value = 0;
    for byte in bytes.get(at..at.checked_add(size)?)?.iter().rev() {
        value = value << 8 | u64::from(*byte);
    }
    Some(value)
}

/// Returns what follows the first occurrence of this letter and `tail` in a text. They are separate arguments so that a
/// program with this code does not contain the text that it searches for.
pub fn after<'t>(text: &'t [u8], letter: u8, tail: &[u8]) -> Option<&'t [u8]> {
    let mut rest = text;
    // `skip_until` is optimized even in debug builds, unlike a loop over bytes.
    while rest.skip_until(letter).is_ok_and(|skipped| skipped > 0) {
        if let Some(rest) = rest.strip_prefix(tail) {
            return Some(rest);
        }
    }
    None
}

/// Returns `true` if the text contains this letter followed by `tail`.
pub fn contains(text: &[u8], letter: u8, tail: &[u8]) -> bool {
    after(text, letter, tail).is_some()
}

/// Like [`contains`], for a word that is not a constant of the program.
pub fn contains_word(text: &[u8], word: &[u8]) -> bool {
    let first = word.split_first();
    first.is_some_and(|(letter, tail)| contains(text, *letter, tail))
}
