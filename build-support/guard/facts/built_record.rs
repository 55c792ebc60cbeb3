//! The record of a program, as the program reads it.

use crate::runtime::facts::built::Built;
use crate::runtime::facts::linked_in::LinkedIn;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

/// The [`Built`] of a program, read from its record on first use. A `LazyLock` would be compiled in every program.
pub struct BuiltRecord {
    record: &'static [u8],
    functions: Option<&'static LinkedIn>,
    built: OnceLock<Built>,
}

impl BuiltRecord {
    /// Creates the facts from this record.
    pub const fn new(record: &'static [u8]) -> Self {
        Self {
            record,
            functions: None,
            built: OnceLock::new(),
        }
    }

    /// Creates the facts of a program that is statically linked with these functions of cuDNN.
    pub const fn with_functions(record: &'static [u8], functions: &'static LinkedIn) -> Self {
        Self {
            record,
            functions: Some(functions),
            built: OnceLock::new(),
        }
    }
}

impl Deref for BuiltRecord {
    type Target = Built;

    #[inline(never)]
    fn deref(&self) -> &Built {
        self.built.get_or_init(|| Built {
            linked_in: self.functions.copied(),
            ..Built::read(self.record)
        })
    }
}

impl fmt::Debug for BuiltRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
