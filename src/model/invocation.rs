//! A command line.

use crate::runtime::facts::quoted;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// A program and its arguments. `Display` can be pasted into a shell.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    pub program: PathBuf,
    pub args: Vec<String>,
    /// Additional environment variables. They are not printed.
    pub env: Vec<(OsString, OsString)>,
}

impl Invocation {
    pub fn new(program: &Path, args: &[&str]) -> Self {
        Self {
            program: program.to_path_buf(),
            args: args.iter().map(ToString::to_string).collect(),
            env: Vec::new(),
        }
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.program.to_string_lossy()))?;
        self.args
            .iter()
            .try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}
