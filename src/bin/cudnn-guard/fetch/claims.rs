//! Which folders of the home this program put there, by its note of them: those it may replace.

use crate::fetch::component::Component;
use crate::fetch::wheels;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The note, in the home.
pub const FILE: &str = ".cudnn-guard";

/// A folder below `nvidia` that this program did not put there: then the home is a virtual environment, or what
/// pip was told to fill, and nothing is added to it.
pub fn somebody_elses(home: &Path, component: &Component) -> Option<PathBuf> {
    let every = component.every();
    let mut folders = every.iter().flat_map(|one| &one.folders);
    folders
        .find(|folder| {
            let path = home.join(folder);
            path.exists() && !is_ours(home, folder) && !wheels::is_neighbour(&path)
        })
        .map(|folder| home.join(folder))
}

/// The one of a component's CUDAs that this program put there.
pub fn ours(home: &Path, component: &Component) -> Option<Component> {
    let mut every = component.every().into_iter();
    every.find(|one| is_ours_there(home, one))
}

/// Whether this program put a component there.
pub fn is_ours_there(home: &Path, component: &Component) -> bool {
    let ours = component.folders.iter().all(|folder| is_ours(home, folder));
    ours && component.wheels(home).iter().any(Option::is_some)
}

/// Whether this program put that folder there.
pub fn is_ours(home: &Path, folder: &str) -> bool {
    fs::read_to_string(home.join(FILE)).is_ok_and(|text| text.lines().any(|line| line == folder))
}

/// Notes folders as put there, and forgets those that are gone. What stops that half-way leaves its half among what is
/// temporary.
pub fn claim(home: &Path, folders: &[String], temporary: &Path) -> io::Result<()> {
    let path = home.join(FILE);
    let before = fs::read_to_string(&path).unwrap_or_default();
    let others = before
        .lines()
        .filter(|line| !folders.iter().any(|folder| folder == line) && home.join(line).exists());
    let lines = others.chain(folders.iter().map(String::as_str));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let fresh = temporary.join("claims");
    fs::write(&fresh, text)?;
    fs::rename(&fresh, &path)
}
