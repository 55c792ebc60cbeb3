//! What a build script says of its kernels.

use crate::kernels::Kernels;
use crate::kernels::inputs::sources::{Patterns, Source};
use crate::runtime::facts::compute_capability::ComputeCapability;
use std::path::{Path, PathBuf};

impl Kernels<'_> {
    /// Adds a file. Relative paths are relative to the package, as everywhere in a build script.
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.sources.push(Source::File(path.into()));
        self
    }

    /// Adds the files that match a pattern, `src/kernels/*.cu`, or all of a list of files and patterns:
    /// `["src/gelu.cu", "src/moe/*.cu"]`. A file that is not there, and a pattern that matches nothing, is an error.
    pub fn files(mut self, patterns: impl Into<Patterns>) -> Self {
        self.sources.extend(patterns.into().sources());
        self
    }

    /// Leaves out of what the patterns of [`files`](Self::files) match the files of these names or patterns. One
    /// without a `/` is held against the name of the file, `*_test.cu`, any other against its path, `src/old/*.cu`.
    pub fn exclude(mut self, patterns: impl Into<Patterns>) -> Self {
        self.excluded.extend(patterns.into().0);
        self
    }

    /// Compiles these kernels again when one of these files changes, or one in these directories: what decides what
    /// comes out and nvcc does not name. It names every header.
    pub fn watch(mut self, patterns: impl Into<Patterns>) -> Self {
        self.watched.extend(patterns.into().0);
        self
    }

    /// Adds a directory in which to look for headers.
    pub fn include(mut self, dir: impl AsRef<Path>) -> Self {
        self.flags.push(format!("-I{}", dir.as_ref().display()));
        self
    }

    /// Defines a macro, with a value or with `None`.
    pub fn define<'v>(mut self, name: &str, value: impl Into<Option<&'v str>>) -> Self {
        self.flags.push(match value.into() {
            Some(value) => format!("-D{name}={value}"),
            None => format!("-D{name}"),
        });
        self
    }

    /// Adds one argument for nvcc: `--use_fast_math`. GPU targets are chosen by [`archs`](Self::archs). With
    /// `-rdc=true`, for kernels that call functions of other files, [`compile`](Self::compile) has nvcc link the device
    /// code (`-dlink`), and links `cudadevrt`.
    pub fn flag(mut self, text: impl Into<String>) -> Self {
        self.flags.push(text.into());
        self
    }

    /// Adds arguments for nvcc: `["-std=c++17", "--expt-relaxed-constexpr"]`.
    pub fn flags<S: Into<String>>(mut self, list: impl IntoIterator<Item = S>) -> Self {
        self.flags.extend(list.into_iter().map(Into::into));
        self
    }

    /// How far host code is optimised, 0 to 3, in place of what cargo's profile says. Device code is always optimised
    /// but under nvcc's `-G`. Where a level is chosen, here or as a flag, nothing else of the profile counts either:
    /// `-g` and `-lineinfo` are then given only for [`debug`](Self::debug) and [`lineinfo`](Self::lineinfo).
    pub fn opt_level(mut self, level: u8) -> Self {
        self.optimisation.level = Some(level);
        self
    }

    /// Whether host code gets debug information (`-g`), in place of what cargo's profile says.
    pub fn debug(mut self, wanted: bool) -> Self {
        self.optimisation.debug = Some(wanted);
        self
    }

    /// Whether device code tells profilers its lines (`-lineinfo`), in place of what cargo's profile says.
    pub fn lineinfo(mut self, wanted: bool) -> Self {
        self.optimisation.lineinfo = Some(wanted);
        self
    }

    /// The targets of these kernels, in place of those of [`Config::archs`](crate::Config::archs), in the same words.
    /// `CUDNN_GUARD_ARCHS` wins over both.
    pub fn archs<S: Into<String>>(mut self, list: impl IntoIterator<Item = S>) -> Self {
        self.archs.extend(list.into_iter().map(Into::into));
        self
    }

    /// The lowest compute capability that these kernels are written for. Targets below it are left out, with a
    /// warning; it is an error if none is left.
    pub fn at_least(mut self, minimum: ComputeCapability) -> Self {
        self.minimum = Some(minimum);
        self
    }

    /// Has [`ptx`](Self::ptx), [`fatbin`](Self::fatbin) and [`cubin`](Self::cubin) write `<name>.rs` in `OUT_DIR` too,
    /// with a constant for each file, named after it: `GELU` for `gelu.ptx`, a `&str`, and for `gelu.fatbin`, a
    /// `&[u8]`; `GELU_SM_90A` for `gelu.sm_90a.cubin`. The crate takes them with
    ///
    /// ```ignore
    /// mod ptx {
    ///     include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
    /// }
    /// ```
    pub fn module(mut self, name: impl Into<String>) -> Self {
        self.module = Some(name.into());
        self
    }

    /// Puts what [`ptx`](Self::ptx), [`fatbin`](Self::fatbin) and [`cubin`](Self::cubin) make into this directory too,
    /// for whom `OUT_DIR` is no place, and gives the paths there. A file that is there already and says the same stays
    /// as it is.
    pub fn out_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.destination = Some(dir.into());
        self
    }
}
