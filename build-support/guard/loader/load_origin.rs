//! The reasons why the loader searches a folder.

use crate::runtime::loader::opener::Opener;
use std::path::{Path, PathBuf};

/// Libraries that the loader puts into every program, as ld.so(8) has it.
pub const PRELOADS: &str = "/etc/ld.so.preload";

/// The reason why the loader searches a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadOrigin {
    /// The program's DT_RPATH, which wins over LD_LIBRARY_PATH.
    Rpath(PathBuf),
    /// LD_LIBRARY_PATH, as it was when the program was started; on Windows PATH, as it is.
    LibraryPath(PathBuf),
    /// The program's DT_RUNPATH.
    Runpath(PathBuf),
    /// The DT_RPATH of the library of this name, which opens it or is above the one that does.
    LibraryRpath(PathBuf, String),
    /// The DT_RUNPATH of the library of this name, which opens it.
    LibraryRunpath(PathBuf, String),
    /// LD_PRELOAD.
    Preload,
    /// `/etc/ld.so.preload`.
    Preloads,
    /// `/etc/ld.so.cache`.
    Cache,
    /// The folders that are built into the loader.
    System(PathBuf),
    /// On Windows the program's own directory.
    Application(PathBuf),
    /// On Windows what the program gave to `SetDllDirectory`.
    DllDirectory(PathBuf),
    /// On Windows the working directory.
    WorkingDirectory(PathBuf),
    /// Another library in the process.
    Library(Opener),
    /// A path by which the program or a library in the process opened it.
    Elsewhere,
    /// Nothing: it is linked into the program itself.
    Within,
}

impl LoadOrigin {
    /// Returns the folder that it names. Without one, the path is empty.
    pub fn folder(&self) -> &Path {
        match self {
            LoadOrigin::Rpath(folder)
            | LoadOrigin::LibraryPath(folder)
            | LoadOrigin::Runpath(folder)
            | LoadOrigin::LibraryRpath(folder, _)
            | LoadOrigin::LibraryRunpath(folder, _)
            | LoadOrigin::Application(folder)
            | LoadOrigin::DllDirectory(folder)
            | LoadOrigin::WorkingDirectory(folder)
            | LoadOrigin::System(folder) => folder,
            _ => Path::new(""),
        }
    }
}
