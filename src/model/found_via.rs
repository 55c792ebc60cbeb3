use crate::model::{Origin, Variable, joined};
use std::fmt;
use std::path::PathBuf;

/// The search step that found a place.
#[derive(Clone, Debug, PartialEq)]
pub enum FoundVia {
    Variables(Vec<Named>),
    /// `LD_LIBRARY_PATH`, which only affects run time. The build does not use it.
    LibraryPath,
    NvccOnPath,
    VirtualEnvironment,
    Conda,
    CondaBuild,
    /// An inactive Python environment beside Cargo.toml.
    InactiveVirtualEnvironment,
    /// An inactive pixi environment beside Cargo.toml.
    InactivePixi,
    EnvironmentOnPath,
    /// pkg-config, with the .pc file if it is known.
    PkgConfig(Option<PathBuf>),
    /// A description of a directory that is always searched.
    Directory(&'static str),
    /// The user's data directory, where `cudnn-guard fetch` installs.
    Fetched,
}

/// A variable as it is spelled in the environment.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The name, which may end in a target: `CUDNN_LIB_DIR_x86_64_unknown_linux_gnu`.
    pub name: String,
    pub origin: Origin,
}

impl Named {
    pub fn in_process(name: String) -> Self {
        let origin = Origin::Process;
        Self { name, origin }
    }
}

impl FoundVia {
    pub fn variable(name: impl Into<String>) -> Self {
        Self::Variables(vec![Named::in_process(name.into())])
    }

    pub fn variables(variables: &[Variable]) -> Self {
        let mut named = Vec::new();
        for variable in variables {
            named.push(Named::in_process(variable.name().to_string()));
        }
        Self::Variables(named)
    }

    /// Returns `true` for an environment that must be activated before programs use it.
    pub fn is_inactive(&self) -> bool {
        matches!(self, Self::InactiveVirtualEnvironment | Self::InactivePixi)
    }

    /// Returns `true` for a place that is always searched, below the host's root. Links in it stay below the root.
    pub fn is_fixed(&self) -> bool {
        matches!(self, Self::Directory(_) | Self::Fetched)
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
            Self::Variables(all) => f.write_str(&joined(all, " and ")),
            Self::LibraryPath => f.write_str("LD_LIBRARY_PATH"),
            Self::NvccOnPath => f.write_str("nvcc on PATH"),
            Self::VirtualEnvironment => f.write_str("active virtual environment"),
            Self::Conda => f.write_str("active conda environment"),
            Self::CondaBuild => f.write_str("conda-build's PREFIX"),
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
