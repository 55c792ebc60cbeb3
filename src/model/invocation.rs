//! A program to run, as data.

use crate::runtime::facts::finding::quoted;
use std::fmt;
use std::path::PathBuf;

/// A program and its arguments. Printed, it can be pasted into a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The program, by its absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.program.to_string_lossy()))?;
        self.args
            .iter()
            .try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}
