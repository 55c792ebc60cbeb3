//! The environment, read once, and every variable that means something here.

use crate::model::text::newest_first;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a variable's value is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It names an installation: if that is unusable, it is an error, and nothing else is searched.
    Installation(Names),
    /// A place to look at, or evidence; never an error.
    Surrounding,
    /// Belongs to this login or machine, and says too little about a build for cargo to watch it.
    Session,
    /// A choice of ours or of the build tools.
    Setting,
}

/// The thing that a variable names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    Toolkit,
    Nvcc,
    Cudnn,
    CudnnHeaders,
    CudnnLibrary,
    /// The directory in which `cudnn-guard fetch` installs.
    Fetched,
}

macro_rules! variables {
    ($($variant:ident = $name:literal, $kind:ident $(($names:ident))?;)*) => {
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
                match self { $(Variable::$variant => Kind::$kind $((Names::$names))?),* }
            }
        }
    };
}

impl Variable {
    /// Returns what it names, if that is an installation.
    pub fn names(self) -> Option<Names> {
        match self.kind() {
            Kind::Installation(names) => Some(names),
            _ => None,
        }
    }

    /// Returns the variables that name this, in the order in which they are looked at.
    pub fn naming(names: Names) -> impl Iterator<Item = Self> {
        let all = Self::ALL.iter().copied();
        all.filter(move |one| one.names() == Some(names))
    }
}

variables! {
    CudaHome = "CUDA_HOME", Installation(Toolkit);
    CudaPath = "CUDA_PATH", Installation(Toolkit);
    CudaRoot = "CUDA_ROOT", Installation(Toolkit);
    CudaToolkitRoot = "CUDAToolkit_ROOT", Installation(Toolkit);
    CudaToolkitRootDir = "CUDA_TOOLKIT_ROOT_DIR", Installation(Toolkit);
    CudaToolkitPath = "CUDA_TOOLKIT_PATH", Installation(Toolkit);
    CudaCxx = "CUDACXX", Installation(Nvcc);
    Nvcc = "NVCC", Installation(Nvcc);
    CudnnPath = "CUDNN_PATH", Installation(Cudnn);
    CudnnHome = "CUDNN_HOME", Installation(Cudnn);
    CudnnRoot = "CUDNN_ROOT", Installation(Cudnn);
    CudnnRootDir = "CUDNN_ROOT_DIR", Installation(Cudnn);
    CudnnInstallPath = "CUDNN_INSTALL_PATH", Installation(Cudnn);
    CudnnIncludeDir = "CUDNN_INCLUDE_DIR", Installation(CudnnHeaders);
    CudnnIncludePath = "CUDNN_INCLUDE_PATH", Installation(CudnnHeaders);
    CudnnLibrary = "CUDNN_LIBRARY", Installation(CudnnLibrary);
    CudnnLibraryPath = "CUDNN_LIBRARY_PATH", Installation(CudnnLibrary);
    CudnnLibDir = "CUDNN_LIB_DIR", Installation(CudnnLibrary);
    CudnnLib = "CUDNN_LIB", Installation(CudnnLibrary);
    GuardHome = "CUDNN_GUARD_HOME", Installation(Fetched);
    VirtualEnv = "VIRTUAL_ENV", Surrounding;
    CondaPrefix = "CONDA_PREFIX", Surrounding;
    EasyBuildCuda = "EBROOTCUDA", Surrounding;
    EasyBuildCudnn = "EBROOTCUDNN", Surrounding;
    NvhpcCudaHome = "NVHPC_CUDA_HOME", Surrounding;
    NvhpcRoot = "NVHPC_ROOT", Surrounding;
    TfCudaPaths = "TF_CUDA_PATHS", Surrounding;
    UvProjectEnvironment = "UV_PROJECT_ENVIRONMENT", Surrounding;
    CPath = "CPATH", Surrounding;
    CIncludePath = "C_INCLUDE_PATH", Surrounding;
    CplusIncludePath = "CPLUS_INCLUDE_PATH", Surrounding;
    LibraryPath = "LIBRARY_PATH", Surrounding;
    NixCFlags = "NIX_CFLAGS_COMPILE", Surrounding;
    NixLdFlags = "NIX_LDFLAGS", Surrounding;
    CmakePrefixPath = "CMAKE_PREFIX_PATH", Surrounding;
    PkgConfig = "PKG_CONFIG", Surrounding;
    PkgConfigAllowCross = "PKG_CONFIG_ALLOW_CROSS", Surrounding;
    PkgConfigPath = "PKG_CONFIG_PATH", Surrounding;
    PkgConfigLibDir = "PKG_CONFIG_LIBDIR", Surrounding;
    PkgConfigSysroot = "PKG_CONFIG_SYSROOT_DIR", Surrounding;
    CondaBuild = "CONDA_BUILD", Surrounding;
    CondaHostPrefix = "PREFIX", Surrounding;
    CondaBuildPrefix = "BUILD_PREFIX", Surrounding;
    Path = "PATH", Session;
    LdLibraryPath = "LD_LIBRARY_PATH", Session;
    Home = "HOME", Session;
    XdgDataHome = "XDG_DATA_HOME", Session;
    LocalAppData = "LOCALAPPDATA", Session;
    ProgramW6432 = "ProgramW6432", Session;
    ProgramFiles = "ProgramFiles", Session;
    SystemDrive = "SystemDrive", Session;
    SystemRoot = "SystemRoot", Session;
    GuardArchs = "CUDNN_GUARD_ARCHS", Setting;
    CudaArchs = "CUDAARCHS", Setting;
    TorchCudaArchList = "TORCH_CUDA_ARCH_LIST", Setting;
    CudaComputeCap = "CUDA_COMPUTE_CAP", Setting;
    NvccCcbin = "NVCC_CCBIN", Setting;
    CudaHostCxx = "CUDAHOSTCXX", Setting;
    NvccPrependFlags = "NVCC_PREPEND_FLAGS", Setting;
    NvccAppendFlags = "NVCC_APPEND_FLAGS", Setting;
    GuardNvccWrapper = "CUDNN_GUARD_NVCC_WRAPPER", Setting;
    Cxx = "CXX", Setting;
    GuardAllow = "CUDNN_GUARD_ALLOW", Setting;
    GuardPrint = "CUDNN_GUARD_PRINT", Setting;
    GuardProgramDeadline = "CUDNN_GUARD_PROGRAM_DEADLINE", Setting;
    DocsRs = "DOCS_RS", Setting;
}

/// What pkg-config goes by. The crate of that name spells them for one target as the cc crate does.
const PKG_CONFIG: [Variable; 5] = [
    Variable::PkgConfig,
    Variable::PkgConfigAllowCross,
    Variable::PkgConfigPath,
    Variable::PkgConfigLibDir,
    Variable::PkgConfigSysroot,
];

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
pub struct Environment {
    process: Vec<(String, OsString)>,
    build_script: Vec<(String, OsString)>,
    directory: PathBuf,
    target: Option<Target>,
}

/// The target that is built for, as variables for it alone are spelt.
#[derive(Clone, Debug)]
struct Target {
    triple: String,
    native: bool,
}

/// The value of a name; of a name that is there twice the last one.
fn value<'a>(pairs: &'a [(String, OsString)], name: &str) -> Option<&'a OsStr> {
    let (_, value) = pairs.iter().rfind(|(known, _)| known == name)?;
    Some(value)
}

impl Environment {
    /// From pairs of name and value, as a process has them.
    pub fn new(pairs: impl IntoIterator<Item = (String, OsString)>) -> Self {
        Self {
            process: pairs.into_iter().collect(),
            build_script: Vec::new(),
            directory: PathBuf::new(),
            target: None,
        }
    }

    /// With the target that is built for: places may be asked for it alone.
    pub fn for_target(mut self, triple: &str) -> Self {
        let native = self.var("HOST").is_none_or(|host| host == triple);
        self.target = Some(Target {
            triple: triple.to_string(),
            native,
        });
        self
    }

    /// The names under which a place may be asked for, the one that counts most first, as the cc crate has them:
    /// `CUDNN_PATH_aarch64-unknown-linux-gnu`, `CUDNN_PATH_aarch64_unknown_linux_gnu`, `TARGET_CUDNN_PATH` or, where
    /// the target is this machine, `HOST_CUDNN_PATH`, `CUDNN_PATH`.
    pub fn spellings(&self, variable: Variable) -> Vec<String> {
        let name = variable.name();
        let mut all = Vec::new();
        let alone = variable.names().is_some() || PKG_CONFIG.contains(&variable);
        if let (Some(target), true) = (&self.target, alone) {
            let side = if target.native { "HOST" } else { "TARGET" };
            all.extend([
                format!("{name}_{}", target.triple),
                format!("{name}_{}", target.triple.replace('-', "_")),
                format!("{side}_{name}"),
            ]);
        }
        all.push(name.to_string());
        all
    }

    /// The name under which it is set.
    pub fn spelling(&self, variable: Variable) -> String {
        self.found(variable)
            .map_or_else(|| variable.name().to_string(), |(name, _, _)| name)
    }

    /// What the build script says comes first, however it spells it; an empty value of its own hides the rest.
    fn found(&self, variable: Variable) -> Option<(String, &OsStr, Origin)> {
        let spellings = self.spellings(variable);
        for name in &spellings {
            if let Some(value) = value(&self.build_script, name) {
                let found = (name.clone(), value, Origin::BuildScript);
                return (!value.is_empty()).then_some(found);
            }
        }
        spellings.into_iter().find_map(|name| {
            let value = value(&self.process, &name).filter(|value| !value.is_empty())?;
            Some((name, value, Origin::Process))
        })
    }

    /// The places in variables that have a release behind this prefix, the newest first: `CUDA_PATH_V13_0`.
    pub fn numbered(&self, prefix: &str) -> Vec<(String, PathBuf)> {
        let mut all: Vec<(Vec<u32>, OsString)> = Vec::new();
        for (name, _) in self.process.iter().chain(&self.build_script) {
            let numbers = name.strip_prefix(prefix).map(|tail| {
                let numbers = tail.split('_').map(|number| number.parse().ok());
                numbers.collect::<Option<Vec<u32>>>()
            });
            if let Some(Some(numbers)) = numbers {
                all.push((numbers, name.into()));
            }
        }
        let mut names: Vec<OsString> = newest_first(all).collect();
        names.dedup();
        let dirs = names.into_iter().filter_map(|name| {
            let name = name.into_string().ok()?;
            let dir = self.directory.join(self.os_var(&name)?);
            Some((name, dir))
        });
        dirs.collect()
    }

    /// With the directory that relative paths start from. cargo runs a build script in its package's folder and the
    /// linker in another, so no path may stay relative.
    pub fn with_current_dir(mut self, directory: PathBuf) -> Self {
        self.directory = directory;
        self
    }

    /// That directory.
    #[cfg(feature = "cli")]
    pub fn current_dir(&self) -> &Path {
        &self.directory
    }

    /// With the build script's own pairs on top.
    pub fn with_pairs<V: AsRef<OsStr>>(mut self, pairs: &[(String, V)]) -> Self {
        let pairs = pairs.iter();
        self.build_script
            .extend(pairs.map(|(name, value)| (name.clone(), value.as_ref().into())));
        self
    }

    /// The value of a variable that is declared above.
    pub fn get(&self, variable: Variable) -> Option<&OsStr> {
        Some(self.found(variable)?.1)
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
    pub fn os_var(&self, name: &str) -> Option<&OsStr> {
        self.as_set(name).filter(|value| !value.is_empty())
    }

    /// Returns the value even if it is empty: an empty `CUDA_VISIBLE_DEVICES` hides every GPU.
    pub fn as_set(&self, name: &str) -> Option<&OsStr> {
        value(&self.build_script, name).or_else(|| value(&self.process, name))
    }

    /// Returns the value if it is Unicode.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.os_var(name).and_then(OsStr::to_str)
    }

    /// How long a program may take that is asked something: what `CUDNN_GUARD_PROGRAM_DEADLINE` says, if that is a number
    /// of seconds above 0.
    pub fn program_deadline(&self) -> Option<Duration> {
        let value = self.get(Variable::GuardProgramDeadline)?.to_str()?;
        let seconds = value.trim().parse::<f64>().ok()?;
        // A day is as good as for ever, and no clock overflows over it.
        (seconds > 0.0).then(|| Duration::from_secs_f64(seconds.min(86_400.0)))
    }

    /// Who set it.
    pub fn origin(&self, variable: Variable) -> Origin {
        self.found(variable)
            .map_or(Origin::Process, |(_, _, origin)| origin)
    }
}
