//! A library in a directory that the loader does not search, although a user meant it to be found there.

use crate::runtime::binary::Image;
use crate::runtime::facts::fetch_dir::fetch_dir;
use crate::runtime::system;
use std::path::{Path, PathBuf};

/// Variables that name a directory with a cuDNN. The loader reads none of them.
const VARIABLES: [&str; 8] = [
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CUDNN_PATH",
    "CUDNN_HOME",
    "CUDNN_ROOT",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDNN_GUARD_HOME",
];

/// A library that the loader does not find. The places to search are in `elf` and `dll`.
#[derive(Clone, Debug)]
pub struct Misplaced {
    /// Its file, if one exists.
    pub file: Option<PathBuf>,
    /// The reason why the loader does not search there.
    pub cause: Unsearched,
    /// `None` if the loader ignores LD_LIBRARY_PATH for this program.
    pub library_path: Option<LibraryPath>,
    /// On Windows: the program searches no PATH, since it called `SetDefaultDllDirectories`.
    pub ignores_path: bool,
}

impl Misplaced {
    /// Creates a fault that LD_LIBRARY_PATH does not fix.
    pub fn new(file: Option<PathBuf>, cause: Unsearched) -> Self {
        Self {
            file,
            cause,
            library_path: None,
            ignores_path: false,
        }
    }
}

/// A value of LD_LIBRARY_PATH with which the loader would find a file.
#[derive(Clone, Debug)]
pub struct LibraryPath {
    /// The first directories, separated by colons.
    pub dirs: String,
    /// The present value, if it stays.
    pub kept: String,
    /// The place where the variable is set.
    pub starter: Starter,
}

/// A library that is searched.
pub struct Wanted<'a> {
    pub names: &'a [String],
    /// Returns `false` for a file that the program cannot run with.
    pub suits: &'a dyn Fn(&Path) -> bool,
}

impl Wanted<'_> {
    /// Returns `true` if the file exists, can be loaded, and would help.
    pub fn is_it(&self, file: &Path) -> bool {
        system::is_file(file) && Image::open(file).is_ok() && (self.suits)(file)
    }
}

/// The kind of program that started this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starter {
    Shell,
    /// sudo drops LD_LIBRARY_PATH, even with `-E`.
    Sudo,
    /// systemd starts a service with the variables of its unit.
    Systemd,
}

impl Starter {
    /// Returns the kind, if the variables are conclusive. A shell that sudo or systemd started keeps their variables.
    pub fn find() -> Self {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let own = std::env::current_exe().unwrap_or_default();
        let sudo = variable("SUDO_COMMAND");
        let command = Path::new(sudo.split(' ').next().unwrap_or_default());
        if variable("SYSTEMD_EXEC_PID") == std::process::id().to_string() {
            Starter::Systemd
        } else if command.file_name().is_some() && command.file_name() == own.file_name() {
            Starter::Sudo
        } else {
            Starter::Shell
        }
    }
}

/// The reason why the loader does not search a directory.
#[derive(Clone, Debug)]
pub enum Unsearched {
    /// An entry of LD_LIBRARY_PATH does not have the intended effect.
    Entry(String, EntryFault),
    /// This configuration file of the loader names the directory, but the loader's cache does not contain the library.
    Uncached(PathBuf),
    /// A variable names the directory, but the loader does not read it.
    Variable(&'static str, PathBuf),
    /// PATH names the directory, but the loader does not read it, or on Windows not for this program.
    Path,
    /// `cudnn-guard fetch` installed the library.
    Fetched,
    /// Nothing names the directory.
    Unnamed,
}

/// A fault of an entry of LD_LIBRARY_PATH.
#[derive(Clone, Debug)]
pub enum EntryFault {
    /// The loader ignores the variable for a program with more rights than its user.
    Ignored,
    /// The entry is the file.
    File,
    /// The entry is a directory above that of the file.
    Above,
    /// The entry is another directory beside that of the file.
    Beside,
    Absent,
    /// The entry has quotation marks.
    Quoted,
    /// The entry begins with this word, which only a shell expands.
    Unexpanded(&'static str),
    /// The entry is relative, and does not exist in the working directory.
    Relative,
    /// The entry is several directories without colons between them.
    Joined,
}

/// Returns the file that `below` finds in the directory of a variable, and the reason why the loader does not search
/// there.
pub fn by_variable(below: &dyn Fn(&Path) -> Option<PathBuf>) -> Option<(PathBuf, Unsearched)> {
    for variable in &VARIABLES {
        let named = PathBuf::from(std::env::var_os(variable).unwrap_or_default());
        if !named.is_absolute() {
            continue;
        }
        if let Some(file) = below(&named) {
            return Some((file, Unsearched::Variable(variable, named)));
        }
    }
    let fetched = fetch_dir(cfg!(windows), &|name| std::env::var_os(name))?;
    Some((below(&fetched)?, Unsearched::Fetched))
}

/// Returns the first wanted file in these directories.
pub fn first_wanted(dirs: &[PathBuf], wanted: &Wanted<'_>) -> Option<PathBuf> {
    dirs.iter().find_map(|dir| {
        let mut files = wanted.names.iter().map(|name| dir.join(name));
        files.find(|file| wanted.is_it(file))
    })
}
