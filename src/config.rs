//! What the build script wants.

use std::ffi::OsString;
use std::path::PathBuf;

/// How the build links cuDNN and CUDA: what goes on the link line, and what has to be installed for it. Where the
/// running program then finds its cuDNN is [`Loader`](crate::Loader), which follows from this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Link {
    /// Linked as a shared library, loaded before `main`.
    #[default]
    Dynamic,
    /// Linked into the program, with the CUDA under it: archives, for Linux. There are no files for the guard to judge:
    /// it asks the cuDNN in the program for its release, and tries it.
    Static,
    /// Opened by the program while it runs. Nothing is linked, and neither headers nor libraries are needed to
    /// build: what the program was "built with" is the requirement.
    Runtime,
}

/// What the build script wants of CUDA and cuDNN.
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
#[derive(Clone, Debug)]
#[must_use]
pub struct Config {
    pub(crate) cuda: Option<String>,
    pub(crate) cudnn: Option<String>,
    pub(crate) archs: Vec<String>,
    pub(crate) link: Link,
    pub(crate) libs: Vec<String>,
    pub(crate) rpath: bool,
    pub(crate) rpath_origin: Vec<String>,
    pub(crate) optional: bool,
    pub(crate) root: Option<PathBuf>,
    pub(crate) target: Option<String>,
    pub(crate) env: Vec<(String, OsString)>,
    pub(crate) allow: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl Config {
    /// Wants nothing yet.
    pub fn new() -> Self {
        Self {
            cuda: None,
            cudnn: None,
            archs: Vec::new(),
            link: Link::default(),
            libs: Vec::new(),
            rpath: true,
            rpath_origin: Vec::new(),
            optional: false,
            root: None,
            target: None,
            env: Vec::new(),
            allow: Vec::new(),
        }
    }

    /// Needs a CUDA toolkit that meets this requirement, written as in Cargo.toml: `>=12.0`.
    pub fn cuda(mut self, requirement: impl Into<String>) -> Self {
        self.cuda = Some(requirement.into());
        self
    }

    /// Needs a cuDNN that meets this requirement, written as in Cargo.toml: `>=9.1, <10`.
    pub fn cudnn(mut self, requirement: impl Into<String>) -> Self {
        self.cudnn = Some(requirement.into());
        self
    }

    /// The GPUs to compile for: `80`, `8.6`, `90a`, `sm_86`, `compute_90`, `86-real`, `8.6+PTX`, `8.6(8.0)`, flags of
    /// nvcc, `Ampere`, `H100`, `RTX 4090`, `native`, `all`, `all-major`. `CUDNN_GUARD_ARCHS` wins over this list.
    pub fn archs<S: Into<String>>(mut self, list: impl IntoIterator<Item = S>) -> Self {
        self.archs.extend(list.into_iter().map(Into::into));
        self
    }

    /// How the build links cuDNN and CUDA; [`Link::Dynamic`] unless set.
    pub fn link(mut self, link: Link) -> Self {
        self.link = link;
        self
    }

    /// Further CUDA libraries to link, by their short names: `cublas`, `nvrtc`. Under [`Link::Static`] these are their
    /// archives, with those that they call.
    pub fn libs<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.libs.extend(names.into_iter().map(Into::into));
        self
    }

    /// Whether folders outside the system's are written into the program as an rpath; on unless set.
    pub fn rpath(mut self, on: bool) -> Self {
        self.rpath = on;
        self
    }

    /// Adds an rpath relative to the program or shared library itself (`$ORIGIN`), before those of
    /// [`rpath`](Self::rpath), which this machine alone may have: `../lib` for a program that is unpacked with its
    /// libraries, `../nvidia/cudnn/lib` for a Python extension that finds NVIDIA's wheel beside its package.
    pub fn rpath_origin(mut self, dir: impl Into<String>) -> Self {
        self.rpath_origin.push(dir.into());
        self
    }

    /// A machine without CUDA is no error: `probe` then gives a toolchain that links nothing, compiles nothing and
    /// writes a guard which carries the reason. On docs.rs this is so without asking.
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Looks for everything that is installed in fixed places below this directory, as for a system image. Places
    /// named by variables are taken as they stand.
    pub fn root(mut self, dir: impl Into<PathBuf>) -> Self {
        self.root = Some(dir.into());
        self
    }

    /// The target triple; cargo's `TARGET` unless set.
    pub fn target(mut self, triple: impl Into<String>) -> Self {
        self.target = Some(triple.into());
        self
    }

    /// Variables that win over the process's environment, in all that is searched and read here. The programs that are
    /// started (pkg-config, nvcc, `nvidia-smi`) and NVIDIA's driver read the process's own.
    pub fn env<K: Into<String>, V: Into<OsString>>(
        mut self,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.env.extend(
            pairs
                .into_iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        self
    }

    /// Lets the finding of this id pass: it is shown, and does not stop the build.
    pub fn allow(mut self, id: impl Into<String>) -> Self {
        self.allow.push(id.into());
        self
    }
}
