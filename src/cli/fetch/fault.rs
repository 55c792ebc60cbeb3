use crate::cli::fetch::cargo_config::Refused;
use crate::cli::fetch::release::Release;
use crate::model::kind::Kind;
use std::io;
use std::path::{Path, PathBuf};

/// A reason why `fetch` fails.
#[derive(Debug, PartialEq)]
pub enum FetchFault {
    /// A failed operation on a path, as a verb.
    Io(&'static str, PathBuf, String),
    /// The directory to fetch into, which cannot be created.
    HomeNotCreated(PathBuf, String),
    /// No variable determines the directory to fetch into.
    NoHome,
    /// A directory that this program did not create, and the reason why its component is not complete.
    ForeignDirectory(PathBuf, Option<String>),
    NothingToRemove(PathBuf),
    /// A directory without some of the components to check, and the command that fetches them.
    NothingToCheck(PathBuf, Vec<Kind>, String),
    /// Damaged files of a component, and the command that fetches it again.
    DamagedComponent {
        kind: Kind,
        place: String,
        files: Vec<String>,
        /// A damaged file that `fetch` would consider complete.
        unseen: Option<PathBuf>,
        fetch: String,
    },
    /// Files that are not complete after the download.
    IncompleteDownload(Option<String>),
    /// Versions both on the command line and in the file of `--lock`.
    ReleasesNamedTwice,
    /// A file of `--lock` without this package, or without a toolkit and a cuDNN.
    NotLocked(PathBuf, Option<String>),
    /// A value in this table of the crate's manifest that is not a version.
    InvalidRelease(Kind, String, String),
    /// A key in this table of the crate's manifest that does not exist.
    UnknownKey(String, String),
    /// A value in this table of the crate's manifest that is not a list of known libraries.
    UnknownLibrary(String, String),
    /// A CUDA that is newer than all known ones.
    UnknownCuda(u32),
    /// A version that PyPI does not have.
    NotOffered {
        kind: Kind,
        cuda: u32,
        required: Release,
        nearest: Vec<Release>,
        /// The CUDA major for which PyPI has it.
        other_cuda: Option<u32>,
    },
    /// No uv and no pip; these Pythons have no pip.
    NoInstaller(Vec<PathBuf>),
    /// The command of an installer that prints no hashes of wheels, and its output.
    NoHashes(String, String),
    InstallFailed {
        command: String,
        /// Its last lines, or the exit status if the lines are already on the terminal.
        output: String,
        is_shown: bool,
        /// The project on PyPI, unless `--lock` names the wheels.
        project: Option<String>,
    },
    /// An existing `.cargo/config`, which cargo reads instead of `config.toml`.
    OldCargoConfig(PathBuf),
    /// A `.cargo/config.toml` that cannot be edited.
    CargoConfig(PathBuf, Refused),
}

/// Returns a conversion of I/O errors.
pub fn failed(verb: &'static str, path: &Path) -> impl Fn(io::Error) -> FetchFault {
    move |error| FetchFault::Io(verb, path.to_path_buf(), error.to_string())
}
