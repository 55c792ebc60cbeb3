//! The options of [`Kernels`].

use crate::kernels::{Kernels, Patterns, Source};
use crate::runtime::facts::ComputeCapability;
use std::path::{Path, PathBuf};

/// The stream of a kernel launch without an explicit stream, and of CUDA runtime calls such as `cudaMemcpyAsync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DefaultStream {
    /// A single stream for all threads, which synchronizes with the other blocking streams. The default of nvcc.
    Legacy,
    /// A stream for each host thread. cudaforge and bindgen_cuda use this mode.
    PerThread,
}

/// The CUDA runtime that a library of kernels is linked with, nvcc's `--cudart`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cudart {
    /// `libcudart_static.a`. On Windows, `cudart_static.lib` requires a program with `-C target-feature=+crt-static`.
    Static,
    /// `libcudart.so` or the DLL, which the program loads when it starts. A directory that the loader does not search
    /// becomes an rpath, as in [`Toolchain::link`](crate::Toolchain::link).
    Shared,
    /// No runtime. The crate links one by other means.
    None,
}

impl Kernels<'_> {
    /// Adds a file. Relative paths are relative to the package.
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.sources.push(Source::File(path.into()));
        self
    }

    /// Adds the files that match a pattern, such as `src/kernels/*.cu`, or a list of files and patterns, such as
    /// `["src/gelu.cu", "src/moe/*.cu"]`. It is an error if a file does not exist or a pattern matches nothing.
    pub fn files(mut self, patterns: impl Into<Patterns>) -> Self {
        self.sources.extend(patterns.into().sources());
        self
    }

    /// Excludes the files that match these names or patterns from [`files`](Self::files). A pattern without a `/`, such
    /// as `*_test.cu`, is matched against the file name, others, such as `src/old/*.cu`, against the path.
    pub fn exclude(mut self, patterns: impl Into<Patterns>) -> Self {
        self.excluded.extend(patterns.into().0);
        self
    }

    /// Makes [`compile`](Self::compile) pass up to this many files to nvcc as one, so that it starts and reads the headers
    /// only once for them. After a change, all of them are compiled again. Names that are `static` or in an unnamed
    /// namespace must differ, and macros of one file are seen by the next. Default: 1.
    pub fn unity(mut self, files: usize) -> Self {
        self.unity = files;
        self
    }

    /// Recompiles these kernels if one of these files, or a file in one of these directories, changes. Use it for
    /// inputs that nvcc does not report. Headers are tracked by default.
    pub fn watch(mut self, patterns: impl Into<Patterns>) -> Self {
        self.watched.extend(patterns.into().0);
        self
    }

    /// Adds a directory to the header search path.
    pub fn include(self, dir: impl AsRef<Path>) -> Self {
        self.flag(format!("-I{}", dir.as_ref().display()))
    }

    /// Defines a macro, with a value or with `None`.
    pub fn define<'v>(self, name: &str, value: impl Into<Option<&'v str>>) -> Self {
        self.flag(match value.into() {
            Some(value) => format!("-D{name}={value}"),
            None => format!("-D{name}"),
        })
    }

    /// Adds one argument for nvcc, such as `--use_fast_math`. Use [`archs`](Self::archs) to choose GPU targets. With
    /// `-rdc=true`, for kernels that call functions in other files, [`compile`](Self::compile) has nvcc link the device
    /// code (`-dlink`) and links `cudadevrt`.
    pub fn flag(mut self, text: impl AsRef<str>) -> Self {
        self.flags.push(text.as_ref().to_string());
        self
    }

    /// Adds arguments for nvcc: `["-std=c++17", "--expt-relaxed-constexpr"]`.
    pub fn flags<S: AsRef<str>>(mut self, list: impl IntoIterator<Item = S>) -> Self {
        for text in list {
            self = self.flag(text);
        }
        self
    }

    /// Sets the stream of launches without an explicit stream (nvcc's `--default-stream`). Kernels ported from
    /// cudaforge or bindgen_cuda need [`DefaultStream::PerThread`] to run on the same stream as before.
    pub fn default_stream(self, stream: DefaultStream) -> Self {
        self.flag(match stream {
            DefaultStream::Legacy => "--default-stream=legacy",
            DefaultStream::PerThread => "--default-stream=per-thread",
        })
    }

    /// Sets the CUDA runtime that [`compile`](Self::compile) links. Default: the static one, as with nvcc, if the
    /// toolkit contains it. On Windows, the DLL, because Rust programs also use the C runtime's DLL.
    pub fn cudart(mut self, cudart: Cudart) -> Self {
        self.cudart = Some(cudart);
        self
    }

    /// Sets the optimization level of host code, 0 to 3. Default: the level of cargo's profile. Device code is always
    /// optimized, except with nvcc's `-G`. If a level is set here or by a flag, the profile no longer implies `-g` or
    /// `-lineinfo`. [`debug`](Self::debug) and [`lineinfo`](Self::lineinfo) add them.
    pub fn opt_level(mut self, level: u8) -> Self {
        self.optimisation.level = Some(level);
        self
    }

    /// Sets whether host code gets debug information (`-g`). Default: the setting of cargo's profile.
    pub fn debug(mut self, on: bool) -> Self {
        self.optimisation.debug = Some(on);
        self
    }

    /// Sets whether device code gets line numbers for profilers (`-lineinfo`). Default: the setting of cargo's profile.
    pub fn lineinfo(mut self, on: bool) -> Self {
        self.optimisation.lineinfo = Some(on);
        self
    }

    /// Sets the targets of these kernels, in the syntax of [`Config::archs`](crate::Config::archs). This list replaces
    /// that one. `CUDNN_GUARD_ARCHS` overrides both.
    pub fn archs<S: AsRef<str>>(mut self, list: impl IntoIterator<Item = S>) -> Self {
        for word in list {
            self.archs.push(word.as_ref().to_string());
        }
        self
    }

    /// Sets the lowest compute capability that these kernels support. Lower targets are left out with a warning. It is
    /// an error if no target is left.
    pub fn at_least(mut self, minimum: ComputeCapability) -> Self {
        self.minimum = Some(minimum);
        self
    }

    /// Makes [`ptx`](Self::ptx), [`fatbin`](Self::fatbin) and [`cubin`](Self::cubin) also write `<name>.rs` in
    /// `OUT_DIR`, with a constant for each file: `GELU` for `gelu.ptx` (a `&str`) or `gelu.fatbin` (a `&[u8]`), and
    /// `GELU_SM_90A` for `gelu.sm_90a.cubin`. Include the module with
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

    /// Copies the files from [`ptx`](Self::ptx), [`fatbin`](Self::fatbin) and [`cubin`](Self::cubin) into this
    /// directory and returns the paths there. A file with the same contents is left untouched.
    pub fn out_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.destination = Some(dir.into());
        self
    }
}
