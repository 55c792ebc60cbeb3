//! The reasons why the loader searches a directory.

use crate::runtime::loader::Opener;
use std::path::{Path, PathBuf};

/// The list of libraries that the loader loads into every program (ld.so(8)).
pub const PRELOADS: &str = "/etc/ld.so.preload";

/// The reason why the loader searches a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadOrigin {
    /// The DT_RPATH of the program or of the library of this name, which is searched before LD_LIBRARY_PATH. The library
    /// opens the searched library, or loaded the library that opens it.
    Rpath(PathBuf, Option<String>),
    /// LD_LIBRARY_PATH, as it was when the program was started; on Windows the current PATH.
    LibraryPath(PathBuf),
    /// The DT_RUNPATH of the program or of the library of this name, which opens the searched library.
    Runpath(PathBuf, Option<String>),
    Preload,
    /// `/etc/ld.so.preload`.
    Preloads,
    /// `/etc/ld.so.cache`.
    Cache,
    /// `/etc/ld.so.cache`, for a directory outside the system's, and the file in `ldconfig`'s configuration that lists it.
    Configured(PathBuf, PathBuf),
    /// The cache of a loader that does not read the distribution's.
    OwnCache(PathBuf),
    /// The directories that are built into the loader.
    System(PathBuf),
    /// On Windows the program's own directory.
    Application(PathBuf),
    /// On Windows the directory of `SetDllDirectory`.
    DllDirectory(PathBuf),
    /// On Windows a directory of `AddDllDirectory`.
    AddedDirectory(PathBuf),
    /// On Windows the working directory.
    WorkingDirectory(PathBuf),
    /// Another library in the process.
    Library(Opener),
    /// The program or a library in the process opened it by this path.
    Elsewhere,
    /// No search: cuDNN is linked statically.
    Within,
}

impl LoadOrigin {
    /// Returns `true` for the RPATH or RUNPATH of a library.
    pub fn is_of_library(&self) -> bool {
        matches!(self, Self::Rpath(_, Some(_)) | Self::Runpath(_, Some(_)))
    }

    /// Returns the directory, or an empty path without one.
    pub fn folder(&self) -> &Path {
        match self {
            LoadOrigin::Rpath(folder, _)
            | LoadOrigin::LibraryPath(folder)
            | LoadOrigin::Runpath(folder, _)
            | LoadOrigin::Application(folder)
            | LoadOrigin::DllDirectory(folder)
            | LoadOrigin::AddedDirectory(folder)
            | LoadOrigin::WorkingDirectory(folder)
            | LoadOrigin::Configured(folder, _)
            | LoadOrigin::System(folder) => folder,
            _ => Path::new(""),
        }
    }
}
