//! Why a file is no library for the system that is built for.

use std::fmt;

/// What is wrong with a file. Printed, it stands behind the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing is in it: container images keep such a file in the place of one that is mounted later.
    Empty,
    /// It is no library of this kind, and begins with these words, if they are words.
    Foreign(&'static str, String),
    /// Its segments, or as Windows has it sections, reach to the first number, and it ends at the second.
    CutOff(&'static str, u64, u64),
    /// It is for another processor.
    Cpu(&'static str),
}

impl Flaw {
    /// That a file which begins so is no library of this kind.
    pub fn foreign(kind: &'static str, start: &[u8]) -> Self {
        let line = start.split(|&byte| byte == b'\n').next();
        let words = std::str::from_utf8(line.unwrap_or_default()).unwrap_or_default();
        let words = match words.trim_end() {
            words if words.contains(char::is_control) => "",
            words => words,
        };
        Flaw::Foreign(kind, words.chars().take(40).collect())
    }

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
            Flaw::Foreign(kind, words) if words.is_empty() => write!(f, "is not {kind}"),
            Flaw::Foreign(kind, words) => {
                write!(f, "is not {kind}, but a text that begins with {words:?}")
            }
            Flaw::CutOff(what, reach, end) => write!(
                f,
                "is cut off: it ends at byte {end}, and its {what} reach to {reach}"
            ),
            Flaw::Cpu(cpu) => write!(f, "is for {cpu}"),
        }
    }
}
