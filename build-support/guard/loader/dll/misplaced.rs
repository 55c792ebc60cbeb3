//! The places where a DLL may be but Windows does not search.

use crate::runtime::binary::files_in;
use crate::runtime::loader::misplaced::{Misplaced, Unsearched, Wanted, by_variable, first_wanted};
use crate::runtime::loader::{LoadOrigin, SearchDirectory, SearchPath};
use std::path::{Path, PathBuf};

/// The directories of NVIDIA's installers, which contain a directory for each version.
const INSTALLED: [&str; 2] = [r"NVIDIA\CUDNN", r"NVIDIA GPU Computing Toolkit\CUDA"];
/// The places below the directories of variables and installers.
const PLACES: [&str; 7] = [
    "",
    "bin",
    r"bin\x64",
    r"Library\bin",
    r"Lib\site-packages\nvidia\cudnn\bin",
    r"cudnn\bin",
    r"nvidia\cudnn\bin",
];

/// Finds one of these names in the directories of variables and installers.
pub fn find(wanted: &Wanted<'_>) -> Option<Misplaced> {
    if ignores_path() {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut dirs = std::env::split_paths(&path);
        if let Some(file) = dirs.find_map(|dir| first_wanted(&[dir], wanted)) {
            return Some(misplaced(file, Unsearched::Path));
        }
    }
    if let Some((file, cause)) = by_variable(&|dir| below(dir, wanted)) {
        return Some(misplaced(file, cause));
    }
    let programs = PathBuf::from(std::env::var_os("ProgramFiles").unwrap_or_default());
    for installed in &INSTALLED {
        for version in files_in(&programs.join(installed)).iter().rev() {
            if let Some(file) = below(version, wanted) {
                return Some(misplaced(file, Unsearched::Unnamed));
            }
        }
    }
    None
}

fn misplaced(file: PathBuf, cause: Unsearched) -> Misplaced {
    Misplaced {
        ignores_path: ignores_path(),
        ..Misplaced::new(Some(file), cause)
    }
}

/// Returns `true` if Windows searches no directory of PATH for this program.
fn ignores_path() -> bool {
    let search_path = SearchPath::of_program();
    let is_named = |place: &SearchDirectory| matches!(place.origin, LoadOrigin::LibraryPath(_));
    !search_path.directories.iter().any(is_named)
}

/// Returns one of these files, in this directory or below it. The installers of cuDNN have a directory for each
/// CUDA: `bin/13.0/x64`.
fn below(dir: &Path, wanted: &Wanted<'_>) -> Option<PathBuf> {
    let mut dirs: Vec<_> = PLACES.iter().map(|place| dir.join(place)).collect();
    for cuda in files_in(&dir.join("bin")).iter().rev() {
        dirs.push(cuda.join("x64"));
        dirs.push(cuda.clone());
    }
    first_wanted(&dirs, wanted)
}
