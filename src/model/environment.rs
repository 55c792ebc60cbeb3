//! A snapshot of the environment, and the declarations of all variables that are read.

use crate::model::{Named, Platform, newest_first, parse_numbers};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The meaning of a variable's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// An explicit installation. An unusable value is an error, and nothing else is searched.
    Installation(Names),
    /// A context variable, which is a place to search or evidence. It is never an error.
    Context,
    /// A property of the login session or the machine. It is too unspecific for cargo to watch.
    Session,
    /// An option of cudnn-guard or of the build tools.
    Setting,
}

/// The kind of path in an installation variable.
#[derive(Clone, Copy, Debug, PartialEq)]
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
        /// A variable that is read at build time. The `rerun-if` lines, the documentation and the messages are derived
        /// from this list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Variable { $(#[doc = concat!("`", $name, "`")] $variant),* }

        impl Variable {
            /// All variables in search order.
            pub const ALL: &'static [Variable] = &[$(Variable::$variant),*];

            pub const fn name(self) -> &'static str {
                match self { $(Variable::$variant => $name),* }
            }

            pub const fn kind(self) -> Kind {
                match self { $(Variable::$variant => Kind::$kind $((Names::$names))?),* }
            }
        }
    };
}

impl Variable {
    /// Returns the kind of installation that it names.
    pub fn names(self) -> Option<Names> {
        match self.kind() {
            Kind::Installation(names) => Some(names),
            _ => None,
        }
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
    VirtualEnv = "VIRTUAL_ENV", Context;
    CondaPrefix = "CONDA_PREFIX", Context;
    NvhpcCudaHome = "NVHPC_CUDA_HOME", Context;
    NvhpcRoot = "NVHPC_ROOT", Context;
    TfCudaPaths = "TF_CUDA_PATHS", Context;
    UvProjectEnvironment = "UV_PROJECT_ENVIRONMENT", Context;
    CPath = "CPATH", Context;
    CIncludePath = "C_INCLUDE_PATH", Context;
    CplusIncludePath = "CPLUS_INCLUDE_PATH", Context;
    LibraryPath = "LIBRARY_PATH", Context;
    NixCFlags = "NIX_CFLAGS_COMPILE", Context;
    NixLdFlags = "NIX_LDFLAGS", Context;
    CmakePrefixPath = "CMAKE_PREFIX_PATH", Context;
    PkgConfig = "PKG_CONFIG", Context;
    PkgConfigAllowCross = "PKG_CONFIG_ALLOW_CROSS", Context;
    PkgConfigPath = "PKG_CONFIG_PATH", Context;
    PkgConfigLibDir = "PKG_CONFIG_LIBDIR", Context;
    PkgConfigSysroot = "PKG_CONFIG_SYSROOT_DIR", Context;
    CondaBuild = "CONDA_BUILD", Context;
    CondaHostPrefix = "PREFIX", Context;
    CondaBuildPrefix = "BUILD_PREFIX", Context;
    Path = "PATH", Session;
    LdLibraryPath = "LD_LIBRARY_PATH", Session;
    Home = "HOME", Session;
    XdgDataHome = "XDG_DATA_HOME", Session;
    XdgCacheHome = "XDG_CACHE_HOME", Session;
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
    GuardCache = "CUDNN_GUARD_CACHE", Setting;
    GuardPrint = "CUDNN_GUARD_PRINT", Setting;
    GuardProgramDeadline = "CUDNN_GUARD_PROGRAM_DEADLINE", Setting;
    DocsRs = "DOCS_RS", Setting;
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    BuildScript,
    Process,
}

/// A snapshot of the environment. An empty value counts as unset.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    process: Vec<(String, OsString)>,
    build_script: Vec<(String, OsString)>,
    directory: PathBuf,
    /// The triple of the build target, for variables with a target suffix.
    target: Option<String>,
}

/// Returns the value of a name. If the name occurs twice, the last value counts.
fn value<'a>(pairs: &'a [(String, OsString)], name: &str) -> Option<&'a OsStr> {
    let (_, value) = pairs.iter().rfind(|(known, _)| known == name)?;
    Some(value)
}

impl Environment {
    /// Creates a snapshot from pairs of name and value.
    pub fn new(pairs: impl IntoIterator<Item = (String, OsString)>) -> Self {
        Self {
            process: pairs.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Sets the build target, so that variables with a target suffix are read.
    pub fn for_target(mut self, triple: &str) -> Self {
        self.target = Some(triple.to_string());
        self
    }

    /// Returns the names of a variable with and without the target, in order of precedence as in the cc crate:
    /// `CUDNN_PATH_aarch64-unknown-linux-gnu`, `CUDNN_PATH_aarch64_unknown_linux_gnu`, `TARGET_CUDNN_PATH` (in a native
    /// build `HOST_CUDNN_PATH`), `CUDNN_PATH`.
    pub fn spellings(&self, variable: Variable) -> Vec<String> {
        let name = variable.name();
        let mut all = Vec::new();
        // The `pkg-config` crate reads its variables with target suffixes like the cc crate.
        let has_target_names = variable.names().is_some() || name.starts_with("PKG_CONFIG");
        if let (Some(target), true) = (&self.target, has_target_names) {
            let is_native = self.var("HOST").is_none_or(|host| host == target);
            let side = if is_native { "HOST" } else { "TARGET" };
            all.push(format!("{name}_{target}"));
            all.push(format!("{name}_{}", target.replace('-', "_")));
            all.push(format!("{side}_{name}"));
        }
        all.push(name.to_string());
        all
    }

    /// Returns the variable under the name by which it is set.
    pub fn named(&self, variable: Variable) -> Named {
        let found = self.found(variable).map(|(named, _)| named);
        found.unwrap_or_else(|| Named::in_process(variable.name().to_string()))
    }

    pub fn spelling(&self, variable: Variable) -> String {
        self.named(variable).name
    }

    /// Values from the build script come first, under any of the names. An empty value hides the environment's value.
    fn found(&self, variable: Variable) -> Option<(Named, &OsStr)> {
        let spellings = self.spellings(variable);
        for name in &spellings {
            if let Some(value) = value(&self.build_script, name) {
                let (name, origin) = (name.clone(), Origin::BuildScript);
                return (!value.is_empty()).then_some((Named { name, origin }, value));
            }
        }
        for name in spellings {
            if let Some(value) = value(&self.process, &name) {
                if !value.is_empty() {
                    return Some((Named::in_process(name), value));
                }
            }
        }
        None
    }

    /// Returns the paths in variables that consist of this prefix and a version, such as `CUDA_PATH_V13_0`, the newest
    /// first.
    pub fn numbered(&self, prefix: &str) -> Vec<(String, PathBuf)> {
        let mut found = Vec::new();
        for pairs in [&self.process, &self.build_script] {
            for (name, _) in pairs {
                let version = name.strip_prefix(prefix);
                if let Some(numbers) = version.and_then(|version| parse_numbers(version, '_')) {
                    found.push((numbers, name.into()));
                }
            }
        }
        let mut newest = Vec::new();
        for name in newest_first(found) {
            let name = name.to_string_lossy().into_owned();
            if let Some(dir) = self.os_var(&name) {
                let dir = self.directory.join(dir);
                newest.push((name, dir));
            }
        }
        newest
    }

    /// Sets the base of relative paths. cargo runs a build script in its package's directory and the linker in another,
    /// so no path may stay relative.
    pub fn with_current_dir(mut self, directory: PathBuf) -> Self {
        self.directory = directory;
        self
    }

    /// Adds the build script's pairs.
    pub fn with_pairs(mut self, pairs: &[(String, OsString)]) -> Self {
        self.build_script.extend_from_slice(pairs);
        self
    }

    pub fn get(&self, variable: Variable) -> Option<&OsStr> {
        Some(self.found(variable)?.1)
    }

    pub fn path(&self, variable: Variable) -> Option<PathBuf> {
        Some(self.directory.join(self.get(variable)?))
    }

    /// Returns the base of relative paths.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the value of an undeclared variable (`DEP_*`, cargo's own).
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

    /// Returns `true` if rustc links the static C runtime.
    pub fn has_static_runtime(&self) -> bool {
        let features = self.var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
        features.split(',').any(|feature| feature == "crt-static")
    }

    /// Returns the platform in `HOST`, on which a build for a target runs, or else the target.
    pub fn builder(&self, target: &Platform) -> Platform {
        self.var("HOST")
            .map_or_else(|| target.clone(), Platform::from_triple)
    }

    /// Returns `true` if programs of the target run on the build system.
    pub fn is_native(&self, target: &Platform) -> bool {
        let builder = self.builder(target);
        (builder.os, &builder.cpu) == (target.os, &target.cpu)
    }

    /// Returns the time limit of queried programs from `CUDNN_GUARD_PROGRAM_DEADLINE`, if it is a number of seconds
    /// above 0.
    pub fn program_deadline(&self) -> Option<Duration> {
        let value = self.get(Variable::GuardProgramDeadline)?.to_str()?;
        let seconds = value.trim().parse::<f64>().ok()?;
        // A day is as good as no limit, and a clock cannot overflow.
        (seconds > 0.0).then(|| Duration::from_secs_f64(seconds.min(86_400.0)))
    }
}
