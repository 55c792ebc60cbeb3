//! Why a file is no library for the system that is built for.

use std::fmt;

/// What is wrong with a file. Printed, it stands behind the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing is in it: container images keep such a file in the place of one that is mounted later.
    Empty,
    /// It is something else, which begins with these words, if they are words.
    NotElf(String),
    /// Its segments reach to the first number, and it ends at the second.
    CutOff(u64, u64),
    /// It is for another processor.
    Cpu(&'static str),
}

impl Flaw {
    /// The finding for it.
    pub fn id(&self) -> &'static str {
        match self {
            Flaw::Cpu(_) => "wrong-architecture",
            _ => "library-damaged",
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Empty => f.write_str("is empty"),
            Flaw::NotElf(words) if words.is_empty() => f.write_str("is not an ELF library"),
            Flaw::NotElf(words) => write!(
                f,
                "is not an ELF library, but a text that begins with {words:?}"
            ),
            Flaw::CutOff(reach, end) => write!(
                f,
                "is cut off: it ends at byte {end}, and its segments reach to {reach}"
            ),
            Flaw::Cpu(cpu) => write!(f, "is for {cpu}"),
        }
    }
}
