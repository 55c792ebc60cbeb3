//! The reasons why `fetch` cannot do its work.

use crate::cli::fetch::cargo_config::Refused;
use crate::cli::fetch::release::Release;
use crate::model::kind::Kind;
use std::io;
use std::path::{Path, PathBuf};

/// A reason why `fetch` cannot do its work.
#[derive(Debug, PartialEq)]
pub enum FetchFault {
    /// The system refuses an operation, a verb, on a path.
    Io(&'static str, PathBuf, String),
    /// The directory to fetch into cannot be created.
    HomeNotCreated(PathBuf, String),
    /// No variable names a directory to fetch into.
    NoHome,
    /// A directory that this program did not put there, and the reason why its component is not complete.
    ForeignDirectory(PathBuf, Option<String>),
    /// Nothing to remove in this directory.
    NothingToRemove(PathBuf),
    /// Nothing to check for some components in this directory, and the command that fetches them.
    NothingToCheck(PathBuf, Vec<Kind>, String),
    /// Damaged files of a component, and the command that fetches it again.
    DamagedComponent {
        kind: Kind,
        place: String,
        files: Vec<String>,
        /// A file that `fetch` counts as complete.
        unseen: Option<PathBuf>,
        fetch: String,
    },
    /// The fetched files are not complete.
    IncompleteDownload(Option<String>),
    /// The command line names releases, and so does the file of `--lock`.
    ReleasesNamedTwice,
    /// A file of `--lock` without this package, or without a toolkit and a cuDNN.
    NotLocked(PathBuf, Option<String>),
    /// A value in this table of the crate's manifest that is not a release.
    InvalidRelease(Kind, String, String),
    /// A CUDA that is newer than all known ones.
    UnknownCuda(u32),
    /// A release that PyPI does not have.
    NotOffered {
        kind: Kind,
        cuda: u32,
        wanted: Release,
        nearest: Vec<Release>,
        /// The major of CUDA for which PyPI has it.
        other_cuda: Option<u32>,
    },
    /// Neither uv nor pip is installed; these Pythons have no pip.
    NoInstaller(Vec<PathBuf>),
    /// The installer, by this command, does not print the hashes of wheels but this.
    NoHashes(String, String),
    /// The installer fails to install.
    InstallFailed {
        command: String,
        /// The last lines, or the exit status if the lines are on the terminal already.
        output: String,
        is_shown: bool,
        /// The project on PyPI, unless `--lock` names the wheels.
        project: Option<String>,
    },
    /// `.cargo/config` exists, which cargo reads instead of `config.toml`.
    OldCargoConfig(PathBuf),
    /// `.cargo/config.toml` cannot be edited.
    CargoConfig(PathBuf, Refused),
}

/// Returns a function that converts an I/O error.
pub fn failed(verb: &'static str, path: &Path) -> impl Fn(io::Error) -> FetchFault {
    move |error| FetchFault::Io(verb, path.to_path_buf(), error.to_string())
}
