//! A library that lies where the loader does not look, though somebody meant it to be found there.

use crate::runtime::binary::Image;
use crate::runtime::facts::fetch_dir::fetch_dir;
use crate::runtime::system;
use crate::runtime::system::names::LOADER;
use std::path::{Path, PathBuf};

/// Variables that name what holds a cuDNN. None of them tells the loader anything.
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

/// The library, and what keeps the loader from it. Where one is looked for is in `elf` and `dll`.
#[derive(Clone, Debug)]
pub struct Misplaced {
    /// Its file, where there is one.
    pub file: Option<PathBuf>,
    /// The reason why the loader does not search there.
    pub reason: String,
    /// The help that makes the loader find it.
    pub help: String,
}

/// The file that lies `below` what a variable names, and why that leads nobody there.
pub fn by_variable(below: &dyn Fn(&Path) -> Option<PathBuf>) -> Option<(PathBuf, String)> {
    for variable in &VARIABLES {
        let named = PathBuf::from(std::env::var_os(variable).unwrap_or_default());
        if !named.is_absolute() {
            continue;
        }
        if let Some(file) = below(&named) {
            let named = named.display();
            let reason =
                format!("{variable} is `{named}`, and {LOADER} does not follow that variable");
            return Some((file, reason));
        }
    }
    let fetched = fetch_dir(cfg!(windows), &|name| std::env::var_os(name))?;
    let file = below(&fetched)?;
    let reason = format!("`cudnn-guard fetch` installed it, and {LOADER} does not look there");
    Some((file, reason))
}

/// The first of these files in the first of these directories, if it can be loaded.
pub fn first_sound(dirs: &[PathBuf], names: &[String]) -> Option<PathBuf> {
    for dir in dirs {
        for name in names {
            let file = dir.join(name);
            if is_sound(&file) {
                return Some(file);
            }
        }
    }
    None
}

/// Returns `true` if there is such a file, and it can be loaded.
pub fn is_sound(file: &Path) -> bool {
    system::is_file(file) && Image::open(file).is_ok()
}
