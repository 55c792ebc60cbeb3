//! Files of programs and packages, read as bytes: no code of theirs runs.

#[cfg(feature = "runtime")]
pub mod elf;
pub mod package_record;
