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
pub mod ld_so_cache;
#[cfg(any(windows, feature = "build"))]
pub mod pe;
#[cfg(feature = "build")]
pub mod pe_cuda;
pub mod version_symbol;

/// A library of the kind that this system loads.
#[cfg(not(windows))]
pub use self::elf::Elf as Image;
#[cfg(windows)]
pub use self::pe::Pe as Image;
