//! A program to run, as data.

use crate::runtime::facts::finding::quoted;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// A program and its arguments. Printed, it can be pasted into a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// The program, by its absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that it gets besides those of this process. They are not printed.
    pub env: Vec<(OsString, OsString)>,
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.program.to_string_lossy()))?;
        self.args
            .iter()
            .try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}
