//! Files of programs and packages, read as bytes: none of their code runs.

pub mod bounded_file;
pub mod constants;
#[cfg(feature = "build")]
pub mod cuda_sections;
pub mod defect;
pub mod elf;
#[cfg(feature = "runtime")]
#[cfg(feature = "build")]
pub mod elf_linkage;
pub mod elf_sections;
pub mod elf_symbols;
#[cfg(feature = "build")]
pub mod elf_versions;
pub mod ld_so_cache;
#[cfg(any(windows, feature = "build"))]
pub mod pe;

/// The file format of this system's libraries.
#[cfg(not(windows))]
pub use self::elf::Elf as Image;
#[cfg(windows)]
pub use self::pe::Pe as Image;
