//! The environment, read once, and every variable that means something here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What a variable's value is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Somebody asked for this place: unusable is an error, never a fall-through.
    Wish,
    /// A place to look at, or evidence; never an error.
    Surrounding,
    /// A choice of ours or of the build tools.
    Setting,
}

macro_rules! variables {
    ($($variant:ident = $name:literal, $kind:ident;)*) => {
        /// A variable that is read at build time. Rerun lines, documentation and messages come from here.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Variable { $(#[doc = concat!("`", $name, "`")] $variant),* }

        impl Variable {
            /// All of them, in the order in which they are looked at.
            pub const ALL: &'static [Variable] = &[$(Variable::$variant),*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Variable::$variant => $name),* }
            }

            /// What its value is to us.
            pub const fn kind(self) -> Kind {
                match self { $(Variable::$variant => Kind::$kind),* }
            }
        }
    };
}

variables! {
    CudaHome = "CUDA_HOME", Wish;
    CudaPath = "CUDA_PATH", Wish;
    CudaRoot = "CUDA_ROOT", Wish;
    CudaToolkitRoot = "CUDAToolkit_ROOT", Wish;
    CudaToolkitRootDir = "CUDA_TOOLKIT_ROOT_DIR", Wish;
    CudaToolkitPath = "CUDA_TOOLKIT_PATH", Wish;
    CudaCxx = "CUDACXX", Wish;
    Nvcc = "NVCC", Wish;
    CudnnPath = "CUDNN_PATH", Wish;
    CudnnHome = "CUDNN_HOME", Wish;
    CudnnRoot = "CUDNN_ROOT", Wish;
    CudnnRootDir = "CUDNN_ROOT_DIR", Wish;
    CudnnInstallPath = "CUDNN_INSTALL_PATH", Wish;
    CudnnIncludeDir = "CUDNN_INCLUDE_DIR", Wish;
    CudnnIncludePath = "CUDNN_INCLUDE_PATH", Wish;
    CudnnLibrary = "CUDNN_LIBRARY", Wish;
    CudnnLibraryPath = "CUDNN_LIBRARY_PATH", Wish;
    CudnnLibDir = "CUDNN_LIB_DIR", Wish;
    CudnnLib = "CUDNN_LIB", Wish;
    GuardHome = "CUDNN_GUARD_HOME", Wish;
    VirtualEnv = "VIRTUAL_ENV", Surrounding;
    CondaPrefix = "CONDA_PREFIX", Surrounding;
    EasyBuildCuda = "EBROOTCUDA", Surrounding;
    EasyBuildCudnn = "EBROOTCUDNN", Surrounding;
    NvhpcCudaHome = "NVHPC_CUDA_HOME", Surrounding;
    NvhpcRoot = "NVHPC_ROOT", Surrounding;
    TfCudaPaths = "TF_CUDA_PATHS", Surrounding;
    Path = "PATH", Surrounding;
    LdLibraryPath = "LD_LIBRARY_PATH", Surrounding;
    Home = "HOME", Surrounding;
    XdgDataHome = "XDG_DATA_HOME", Surrounding;
    LocalAppData = "LOCALAPPDATA", Surrounding;
    GuardArchs = "CUDNN_GUARD_ARCHS", Setting;
    CudaArchs = "CUDAARCHS", Setting;
    TorchCudaArchList = "TORCH_CUDA_ARCH_LIST", Setting;
    CudaComputeCap = "CUDA_COMPUTE_CAP", Setting;
    NvccCcbin = "NVCC_CCBIN", Setting;
    NvccPrependFlags = "NVCC_PREPEND_FLAGS", Setting;
    NvccAppendFlags = "NVCC_APPEND_FLAGS", Setting;
    Cxx = "CXX", Setting;
    GuardAllow = "CUDNN_GUARD_ALLOW", Setting;
    GuardPrint = "CUDNN_GUARD_PRINT", Setting;
    DocsRs = "DOCS_RS", Setting;
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `Config::env` in the build script.
    BuildScript,
    /// The process's environment.
    Process,
}

/// A snapshot of the environment. An empty value counts as unset.
#[derive(Clone, Debug, Default)]
pub struct Env {
    process: BTreeMap<String, OsString>,
    build_script: BTreeMap<String, OsString>,
    directory: PathBuf,
}

impl Env {
    /// From pairs of name and value, as a process has them.
    pub fn new(pairs: impl IntoIterator<Item = (String, OsString)>) -> Self {
        Self {
            process: pairs.into_iter().collect(),
            build_script: BTreeMap::new(),
            directory: PathBuf::new(),
        }
    }

    /// With the directory that relative paths start from. cargo runs a build script in its package's folder and the
    /// linker in another, so no path may stay relative.
    pub fn standing_in(mut self, directory: PathBuf) -> Self {
        self.directory = directory;
        self
    }

    /// With the build script's own pairs on top.
    pub fn overlaid(mut self, pairs: &[(String, String)]) -> Self {
        self.build_script.extend(
            pairs
                .iter()
                .map(|(name, value)| (name.clone(), value.into())),
        );
        self
    }

    /// The value of a variable that is declared above.
    pub fn get(&self, variable: Variable) -> Option<&OsStr> {
        self.named(variable.name())
    }

    /// The place that a variable names.
    pub fn path(&self, variable: Variable) -> Option<PathBuf> {
        Some(self.directory.join(self.get(variable)?))
    }

    /// The directory that relative paths start from.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The value of any variable, for names that are only known at run time (`DEP_*`, what cargo sets).
    pub fn named(&self, name: &str) -> Option<&OsStr> {
        self.build_script
            .get(name)
            .or_else(|| self.process.get(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// The same as text, if it is Unicode.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.named(name).and_then(OsStr::to_str)
    }

    /// Who set it.
    pub fn origin(&self, variable: Variable) -> Origin {
        if self.build_script.contains_key(variable.name()) {
            Origin::BuildScript
        } else {
            Origin::Process
        }
    }
}
