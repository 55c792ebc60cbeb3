//! A DLL that lies where Windows does not look, though somebody meant it to be found there.

use crate::runtime::binary::Image;
use crate::runtime::binary::bounded_file::files_in;
use std::path::{Path, PathBuf};

/// Variables that name what holds a cuDNN. None of them tells Windows anything.
const VARIABLES: [&str; 7] = [
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CUDNN_PATH",
    "CUDNN_HOME",
    "CUDNN_ROOT",
    "CUDA_HOME",
    "CUDA_PATH",
];
/// Where NVIDIA's installers put it, a directory for each release.
const INSTALLED: [&str; 2] = [r"NVIDIA\CUDNN", r"NVIDIA GPU Computing Toolkit\CUDA"];
/// Where it lies in what a variable names or an installer made.
const PLACES: [&str; 6] = [
    "",
    "bin",
    r"bin\x64",
    r"Library\bin",
    r"Lib\site-packages\nvidia\cudnn\bin",
    r"cudnn\bin",
];

/// The DLL, and what keeps Windows from it.
#[derive(Clone, Debug)]
pub struct Misplaced {
    /// Its file.
    pub file: Option<PathBuf>,
    /// Why Windows does not look there.
    pub reason: String,
    /// What leads there.
    pub help: String,
}

impl Misplaced {
    /// Looks where the variables mean one of these names to be, and where installers put it.
    pub fn find(names: &[String]) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let quoted = Self::in_quotes(&path.to_string_lossy(), names);
        if quoted.is_some() {
            return quoted;
        }
        for variable in &VARIABLES {
            let named = PathBuf::from(std::env::var_os(variable).unwrap_or_default());
            if let (Some(file), true) = (below(&named, names), named.is_absolute()) {
                let named = named.display();
                let reason = format!(
                    "{} is `{}`, and Windows does not follow that variable",
                    variable, named
                );
                return Some(Self::led_by_path(file, reason));
            }
        }
        let programs = PathBuf::from(std::env::var_os("ProgramFiles").unwrap_or_default());
        for installed in &INSTALLED {
            for release in files_in(&programs.join(installed)).iter().rev() {
                if let Some(file) = below(release, names) {
                    let reason = "PATH does not name its directory".to_string();
                    return Some(Self::led_by_path(file, reason));
                }
            }
        }
        None
    }

    /// In a directory that PATH names in quotation marks: programs of Windows take them away, its loader does not.
    pub fn in_quotes(path: &str, names: &[String]) -> Option<Self> {
        for entry in path.split(';').filter(|entry| entry.contains('"')) {
            let dir = entry.replace('"', "");
            let there = |name: &String| Path::new(&dir).join(name).is_file();
            if let Some(name) = names.iter().find(|name| there(name)) {
                return Some(Self {
                    file: Some(Path::new(&dir).join(name)),
                    reason: format!("PATH has {}, with the quotation marks", entry),
                    help: format!(
                        "put `{}` into PATH without quotation marks: it needs none",
                        dir
                    ),
                });
            }
        }
        None
    }

    fn led_by_path(file: PathBuf, reason: String) -> Self {
        let dir = file.parent().unwrap_or(&file).display().to_string();
        Self {
            file: Some(file),
            reason,
            help: format!("put `{}` into PATH where the program runs", dir),
        }
    }
}

/// One of these files, in this directory or where it lies below it. The installers of cuDNN have a directory for each
/// CUDA: `bin/13.0/x64`.
fn below(dir: &Path, names: &[String]) -> Option<PathBuf> {
    let mut dirs = Vec::new();
    for place in &PLACES {
        dirs.push(dir.join(place));
    }
    for cuda in files_in(&dir.join("bin")).iter().rev() {
        dirs.push(cuda.join("x64"));
        dirs.push(cuda.clone());
    }
    for dir in &dirs {
        for name in names {
            let file = dir.join(name);
            if file.is_file() && Image::open(&file).is_ok() {
                return Some(file);
            }
        }
    }
    None
}
