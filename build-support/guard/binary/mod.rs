//! Files of programs and packages, read as bytes: no code of theirs runs.

pub mod bounded_file;
#[cfg(feature = "build")]
pub mod cublas_major;
pub mod defect;
pub mod elf;
#[cfg(feature = "build")]
pub mod elf_cuda;
pub mod elf_sections;
pub mod elf_symbols;
#[cfg(feature = "build")]
pub mod elf_versions;
pub mod package_record;
#[cfg(feature = "build")]
pub mod pe;
pub mod version_symbol;
