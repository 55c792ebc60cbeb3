//! The record of a program, as the program reads it.

use crate::runtime::facts::{Built, LinkedIn, Version};
use std::fmt;
use std::sync::OnceLock;

/// The facts about the build of a program, which a generated file contains as `BUILT`.
///
/// They are read from their record on first use. A `LazyLock` would be compiled in every program.
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
        let mut built = Self::new(record);
        built.functions = Some(functions);
        built
    }

    #[inline(never)]
    pub(crate) fn facts(&self) -> &Built {
        self.built.get_or_init(|| Built {
            linked_in: self.functions.copied(),
            ..Built::read(self.record)
        })
    }

    /// Returns the crate that the guard was built in: `app 0.1.0`.
    pub fn package(&self) -> Option<&str> {
        self.facts().package.as_deref()
    }

    /// Returns the version of the cuDNN headers, unless the program links nothing.
    pub fn cudnn(&self) -> Option<Version> {
        self.facts().cudnn
    }

    /// Returns the build script's requirement for cuDNN.
    pub fn requirement(&self) -> Option<&str> {
        Some(&self.facts().requirement.as_ref()?.text)
    }

    /// Returns the version of the CUDA toolkit.
    pub fn cuda(&self) -> Option<Version> {
        self.facts().cuda
    }

    /// Returns the version of cudarc, if cudarc loads cuDNN.
    pub fn cudarc(&self) -> Option<Version> {
        self.facts().cudarc
    }
}

impl fmt::Debug for BuiltRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.facts(), f)
    }
}
