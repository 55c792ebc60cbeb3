//! Why a file is no library for the system that is built for, or for this process.

use crate::runtime::facts::finding_id::FindingId;
use std::fmt;

/// What is wrong with a file. Printed, it stands behind the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The system's words.
    Unreadable(String),
    /// Nothing is in it: container images keep such a file in the place of one that is mounted later.
    Empty,
    /// It is no library of this kind, and begins with these words, if they are words.
    Foreign(&'static str, String),
    /// Its segments, or as Windows has it sections, reach to the first number, and it ends at the second: opening it
    /// ends in SIGBUS.
    CutOff(&'static str, u64, u64),
    /// It is for another processor than the one that is built for.
    Cpu(&'static str),
    /// It is for another processor than this process, by ELF's number.
    Machine(u64),
    /// It is for 32-bit programs, or for the other byte order.
    Class,
    /// Its tables contradict themselves.
    Garbled,
}

impl Defect {
    /// That a file which begins so is no library of this kind.
    pub fn foreign(kind: &'static str, start: &[u8]) -> Self {
        let line = start.split(|&byte| byte == b'\n').next();
        let words = std::str::from_utf8(line.unwrap_or_default()).unwrap_or_default();
        let words = words.trim_end();
        let mut told = String::new();
        for character in words.chars().take(40) {
            told.push(character);
        }
        if words.contains(char::is_control) {
            told.clear();
        }
        Defect::Foreign(kind, told)
    }

    /// The finding for it.
    pub fn id(&self) -> FindingId {
        match self {
            Defect::Cpu(_) | Defect::Machine(_) | Defect::Class => FindingId::WrongArchitecture,
            Defect::Unreadable(_) => FindingId::IoError,
            _ => FindingId::LibraryDamaged,
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = std::env::consts::ARCH;
        match self {
            Defect::Unreadable(words) => write!(f, "cannot be read: {words}"),
            Defect::Empty => f.write_str("is empty"),
            Defect::Foreign(kind, words) if words.is_empty() => write!(f, "is not {kind}"),
            Defect::Foreign(kind, words) => {
                write!(f, "is not {kind}, but a text that begins with {words:?}")
            }
            Defect::CutOff(what, reach, end) => write!(
                f,
                "is cut off: it ends at byte {end}, and its {what} reach to {reach}"
            ),
            Defect::Cpu(cpu) => write!(f, "is for {cpu}"),
            Defect::Machine(number) => {
                f.write_str("is for ")?;
                match cpu_name(*number) {
                    Some("i686") => f.write_str("x86")?,
                    Some("powerpc64le") => f.write_str("powerpc64")?,
                    Some(name) => f.write_str(name)?,
                    None => write!(f, "the CPU with ELF number {number}")?,
                }
                write!(f, ", and this program is for {own}")
            }
            Defect::Class => write!(
                f,
                "is for programs of another word size or byte order than {own}"
            ),
            Defect::Garbled => f.write_str("has ELF tables that contradict themselves"),
        }
    }
}

/// A processor's name in target triples, by its number in ELF files.
pub fn cpu_name(number: u64) -> Option<&'static str> {
    match number {
        3 => Some("i686"),
        21 => Some("powerpc64le"),
        40 => Some("arm"),
        62 => Some("x86_64"),
        183 => Some("aarch64"),
        243 => Some("riscv64"),
        _ => None,
    }
}
