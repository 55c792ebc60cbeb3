//! The configuration of a build.

use std::ffi::OsString;
use std::path::PathBuf;

/// The linking mode of cuDNN and CUDA. It determines the linker arguments and what must be installed. How the program
/// finds cuDNN at run time is a separate setting, [`Loader`](crate::Loader), whose default follows from this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Link {
    /// Links shared libraries, which are loaded before `main`.
    #[default]
    Dynamic,
    /// Links static libraries of cuDNN and CUDA into the program. Linux only. There are no files to check, so the guard
    /// calls the linked cuDNN to get its version and to test it.
    Static,
    /// Links nothing. The program opens cuDNN at run time. The build needs neither headers nor libraries, and the guard
    /// checks the requirement instead of the build's version.
    Runtime,
    /// Links functions that open their library when they are first called. The program starts without CUDA. If it
    /// calls a library that is missing, the handler that it sets (`runtime::on_missing`) is called, and the program
    /// prints the reason and exits with 78. Linux on x86_64 and aarch64, Windows on x86_64.
    ///
    /// This also applies to the other crates of the program that link with `-lcudnn` and the like.
    Lazy,
}

/// The requirements of a build script for CUDA and cuDNN.
///
/// ```no_run
/// use cudnn_guard::Config;
///
/// cudnn_guard::build(|| {
///     let gpu = Config::new().cuda(">=12.0").cudnn(">=9.1, <10").probe()?;
///     gpu.link();
///     gpu.kernels().files("src/kernels/*.cu").compile("kernels")?;
///     gpu.guard().write()
/// });
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Config {
    pub(crate) cuda: Option<String>,
    pub(crate) cudnn: Option<String>,
    pub(crate) archs: Vec<String>,
    pub(crate) default_archs: Vec<String>,
    pub(crate) embed_ptx: bool,
    pub(crate) link: Link,
    pub(crate) libs: Vec<String>,
    pub(crate) no_rpath: bool,
    pub(crate) rpath_origin: Vec<String>,
    pub(crate) optional: bool,
    pub(crate) root: Option<PathBuf>,
    pub(crate) target: Option<String>,
    pub(crate) env: Vec<(String, OsString)>,
    pub(crate) allow: Vec<String>,
    /// `true` if the terminal program searches, on the machine that runs the programs.
    pub(crate) is_survey: bool,
}

impl Config {
    /// Creates a configuration without requirements.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requires a CUDA toolkit version, in Cargo.toml syntax: `>=12.0`.
    pub fn cuda(mut self, requirement: impl Into<String>) -> Self {
        self.cuda = Some(requirement.into());
        self
    }

    /// Requires a cuDNN version, in Cargo.toml syntax: `>=9.1, <10`.
    pub fn cudnn(mut self, requirement: impl Into<String>) -> Self {
        self.cudnn = Some(requirement.into());
        self
    }

    /// Sets the GPUs to compile for: `80`, `8.6`, `90a`, `sm_86`, `compute_90`, `86-real`, `8.6+PTX`, `8.6(8.0)`, flags
    /// of nvcc, `Ampere`, `H100`, `RTX 4090`, `native`, `all`, `all-major`. `CUDNN_GUARD_ARCHS` overrides this list.
    pub fn archs<S: Into<String>>(mut self, list: impl IntoIterator<Item = S>) -> Self {
        self.archs.extend(list.into_iter().map(Into::into));
        self
    }

    /// Sets the GPUs to compile for if nothing else chooses them: no [`archs`](Self::archs), no variable with a target
    /// list, and no GPU in this machine. Default: the first GPU of each major compute capability that nvcc supports.
    pub fn default_archs<S: Into<String>>(mut self, list: impl IntoIterator<Item = S>) -> Self {
        self.default_archs.extend(list.into_iter().map(Into::into));
        self
    }

    /// Sets whether to add PTX of the highest target to target lists without PTX, so that the driver can compile the kernels for newer
    /// GPUs. `CUDA_COMPUTE_CAP=80` then means `sm_80 compute_80`, as for bindgen_cuda and `nvcc -arch=sm_80`. Targets
    /// with a letter, such as `sm_90a`, are ignored, because their PTX does not run on newer GPUs. Default:
    /// `false`.
    pub fn embed_ptx(mut self, on: bool) -> Self {
        self.embed_ptx = on;
        self
    }

    /// Sets how the build links cuDNN and CUDA. Default: [`Link::Dynamic`].
    pub fn link(mut self, link: Link) -> Self {
        self.link = link;
        self
    }

    /// Adds CUDA libraries to link, by their short names: `cublas`, `nvrtc`. With [`Link::Static`], links their static
    /// libraries and the static libraries that those need.
    pub fn libs<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.libs.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets whether non-system library directories become an rpath. Default: `true`.
    pub fn rpath(mut self, on: bool) -> Self {
        self.no_rpath = !on;
        self
    }

    /// Adds an rpath relative to the program or shared library (`$ORIGIN`). It precedes the absolute ones of
    /// [`rpath`](Self::rpath). Use `../lib` for a program that is installed with its libraries, or
    /// `../nvidia/cudnn/lib` for a Python extension that uses NVIDIA's wheel beside its package.
    pub fn rpath_origin(mut self, dir: impl Into<String>) -> Self {
        self.rpath_origin.push(dir.into());
        self
    }

    /// Sets whether the build continues without CUDA. `probe` then returns a toolchain that links nothing, compiles
    /// nothing, and writes a guard with the reason. Default: `false`, except on docs.rs.
    pub fn optional(mut self, on: bool) -> Self {
        self.optional = on;
        self
    }

    /// Searches the system image in this directory instead of this machine. Paths in variables are used unchanged.
    pub fn root(mut self, dir: impl Into<PathBuf>) -> Self {
        self.root = Some(dir.into());
        self
    }

    /// Sets the target triple. Default: cargo's `TARGET`.
    pub fn target(mut self, triple: impl Into<String>) -> Self {
        self.target = Some(triple.into());
        self
    }

    /// Sets a variable that overrides the process's environment in this crate's own search. The programs that it runs
    /// (pkg-config, nvcc) and NVIDIA's driver still use the process's environment.
    pub fn env(self, name: impl Into<String>, value: impl Into<OsString>) -> Self {
        self.envs([(name, value)])
    }

    /// Sets variables like [`env`](Self::env).
    pub fn envs<K: Into<String>, V: Into<OsString>>(
        mut self,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        for (name, value) in pairs {
            self.env.push((name.into(), value.into()));
        }
        self
    }

    /// Allows a finding: it is still shown but does not stop the build.
    pub fn allow(mut self, id: impl Into<String>) -> Self {
        self.allow.push(id.into());
        self
    }
}
