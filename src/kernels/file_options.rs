//! Options for some of the files.

use crate::error::Error;
use crate::kernels::link::device_link;
use crate::kernels::sources::Patterns;
use crate::kernels::{InvalidRequest, Kernels, target_flags};
use crate::model::Gencode;
use crate::runtime::facts::{ComputeCapability, Finding};
use crate::system::directive::Directive;
use crate::toolkit::nvcc_command::Product;
use std::path::{Path, PathBuf};

/// Options that may differ between files, from [`Kernels::for_files`]. They are added to the options of all files.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct FileOptions {
    pub(super) archs: Vec<String>,
    pub(super) minimum: Option<ComputeCapability>,
    pub(super) flags: Vec<String>,
    /// Macros that are defined if all targets have at least this compute capability.
    conditional: Vec<(String, ComputeCapability)>,
}

impl FileOptions {
    /// Sets the targets of these files, like [`Kernels::archs`].
    pub fn archs<S: AsRef<str>>(mut self, list: impl IntoIterator<Item = S>) -> Self {
        self.archs
            .extend(list.into_iter().map(|one| one.as_ref().to_string()));
        self
    }

    /// Leaves out lower targets, like [`Kernels::at_least`].
    pub fn at_least(mut self, minimum: ComputeCapability) -> Self {
        self.minimum = Some(minimum);
        self
    }

    /// Defines a macro, with a value or with `None`.
    pub fn define<'v>(self, name: &str, value: impl Into<Option<&'v str>>) -> Self {
        self.flag(define(name, value.into()))
    }

    /// Defines a macro if all targets of a file have at least this compute capability.
    pub fn define_if_at_least(mut self, name: &str, minimum: ComputeCapability) -> Self {
        self.conditional.push((name.to_string(), minimum));
        self
    }

    /// Adds one argument for nvcc.
    pub fn flag(mut self, text: impl AsRef<str>) -> Self {
        self.flags.push(text.as_ref().to_string());
        self
    }
}

/// Returns the flag that defines a macro.
fn define(name: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("-D{name}={value}"),
        None => format!("-D{name}"),
    }
}

impl Kernels<'_> {
    /// Sets options for the files that match these names or patterns, which have the same form as for
    /// [`exclude`](Self::exclude). A pattern that matches no file is an error.
    ///
    /// ```no_run
    /// # use cudnn_guard::ComputeCapability;
    /// # fn build(gpu: &cudnn_guard::Toolchain) -> Result<(), cudnn_guard::Error> {
    /// gpu.kernels()
    ///     .files("src/*.cu")
    ///     .for_files("fp8_*.cu", |files| files.at_least(ComputeCapability::new(8, 9)).define("FP8", None))
    ///     .compile("kernels")
    /// # }
    /// ```
    pub fn for_files(
        mut self,
        patterns: impl Into<Patterns>,
        set: impl FnOnce(FileOptions) -> FileOptions,
    ) -> Self {
        let options = set(FileOptions::default());
        self.file_options.push((patterns.into().0, options));
        self
    }

    /// Checks the options for some of the files.
    pub(super) fn check_file_options(&self, sources: &[PathBuf]) -> Result<(), Finding> {
        for (patterns, options) in &self.file_options {
            if let Some(fault) = target_flags::refused(&options.flags) {
                return Err(fault.finding());
            }
            for pattern in patterns {
                let is_match = |source: &PathBuf| {
                    self.is_match(std::slice::from_ref(pattern), source)
                        .unwrap_or(true)
                };
                if !sources.iter().any(is_match) {
                    return Err(InvalidRequest::NoMatchForOptions(pattern).finding());
                }
            }
        }
        Ok(())
    }

    /// Returns the targets and flags of a file. `targets` are the targets of files without their own.
    pub(super) fn options_for(
        &self,
        product: Product,
        source: &Path,
        targets: &[Gencode],
        lines: &mut Vec<Directive>,
    ) -> Result<(Vec<Gencode>, Vec<String>), Error> {
        let mut own = FileOptions::default();
        let mut matching = vec![&self.common];
        for (patterns, options) in &self.file_options {
            if self.is_match(patterns, source)? {
                own.archs.extend_from_slice(&options.archs);
                own.minimum = own.minimum.max(options.minimum);
                own.flags.extend_from_slice(&options.flags);
                matching.push(options);
            }
        }
        let mut targets = targets.to_vec();
        if !own.archs.is_empty() || own.minimum.is_some() {
            if own.archs.is_empty() {
                own.archs = self.common.archs.clone();
            }
            own.minimum = own.minimum.max(self.common.minimum);
            let mut shown = Vec::new();
            targets = self.targets(product, &own, Vec::new(), &mut shown)?;
            let mut known = lines.windows(shown.len().max(1));
            if !known.any(|known| known == shown) {
                lines.append(&mut shown);
            }
        }
        let mut flags = device_link::with_rdc(&own.flags);
        for options in &matching {
            for (name, minimum) in &options.conditional {
                if targets.iter().all(|one| one.target.capability >= *minimum) {
                    flags.push(define(name, None));
                }
            }
        }
        Ok((targets, flags))
    }
}
