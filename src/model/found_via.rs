//! How a candidate was found.

use crate::model::environment::{Origin, Variable};
use std::fmt;
use std::path::PathBuf;

/// How somebody came to look at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundVia {
    /// These variables name it.
    Variables(Vec<Named>),
    /// `LD_LIBRARY_PATH` leads there. It is for programs that run, so a build does not take what it names.
    LibraryPath,
    /// The directory of an nvcc on PATH is above it.
    NvccOnPath,
    /// The active Python environment holds it.
    VirtualEnvironment,
    /// The active conda environment holds it.
    Conda,
    /// The environment that conda-build fills for this package holds it.
    CondaBuild,
    /// A module of EasyBuild that is loaded sets this variable.
    Module(Variable),
    /// A Python environment beside Cargo.toml holds it, and is not active.
    InactiveVirtualEnvironment,
    /// A pixi environment beside Cargo.toml holds it, and is not active.
    InactivePixi,
    /// An environment whose programs are on PATH holds it, and is not active.
    EnvironmentOnPath,
    /// A .pc file leads there: this one, once it is known.
    PkgConfig(Option<PathBuf>),
    /// A directory that is always looked at, in words.
    Directory(&'static str),
    /// The user's data directory, where `cudnn-guard fetch` installs.
    Fetched,
}

/// A variable as it is spelt in the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name, which may end in a target: `CUDNN_LIB_DIR_x86_64_unknown_linux_gnu`.
    pub name: String,
    /// Who set it.
    pub origin: Origin,
}

impl FoundVia {
    /// A variable of the process.
    pub fn variable(name: impl Into<String>) -> Self {
        Self::variables(vec![name.into()])
    }

    /// Variables of the process.
    pub fn variables(names: Vec<String>) -> Self {
        let named = names.into_iter().map(|name| Named {
            name,
            origin: Origin::Process,
        });
        Self::Variables(named.collect())
    }

    /// Whether the place is an environment that has to be activated before programs use it.
    pub fn is_inactive(&self) -> bool {
        matches!(self, Self::InactiveVirtualEnvironment | Self::InactivePixi)
    }

    /// Whether packages there come from conda-forge.
    pub fn is_conda(&self) -> bool {
        matches!(self, Self::Conda | Self::CondaBuild | Self::InactivePixi)
    }

    /// Whether `cudnn-guard fetch` installed it.
    pub fn is_fetched(&self) -> bool {
        *self == Self::Fetched || self.to_string() == "CUDNN_GUARD_HOME"
    }

    /// Whether PATH led there.
    pub fn is_path(&self) -> bool {
        matches!(self, Self::NvccOnPath | Self::EnvironmentOnPath)
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match self.origin {
            Origin::BuildScript => f.write_str(" in build.rs"),
            Origin::Process => Ok(()),
        }
    }
}

impl fmt::Display for FoundVia {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variables(all) => {
                for (index, one) in all.iter().enumerate() {
                    let gap = if index == 0 { "" } else { " and " };
                    write!(f, "{gap}{one}")?;
                }
                Ok(())
            }
            Self::LibraryPath => f.write_str("LD_LIBRARY_PATH"),
            Self::NvccOnPath => f.write_str("nvcc on PATH"),
            Self::VirtualEnvironment => f.write_str("active virtual environment"),
            Self::Conda => f.write_str("active conda environment"),
            Self::CondaBuild => f.write_str("conda-build's PREFIX"),
            Self::Module(variable) => write!(f, "loaded module ({})", variable.name()),
            Self::InactiveVirtualEnvironment => {
                f.write_str("virtual environment beside Cargo.toml (not active)")
            }
            Self::InactivePixi => f.write_str("pixi environment beside Cargo.toml (not active)"),
            Self::EnvironmentOnPath => f.write_str("environment on PATH"),
            Self::PkgConfig(None) => f.write_str("pkg-config"),
            Self::PkgConfig(Some(file)) => write!(f, "pkg-config ({})", file.display()),
            Self::Directory(name) => f.write_str(name),
            Self::Fetched => f.write_str("fetched by cudnn-guard"),
        }
    }
}
