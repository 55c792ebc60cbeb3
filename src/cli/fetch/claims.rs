//! The list of the directories that this program put into the home.

use crate::cli::fetch::component::{Component, Kind};
use crate::cli::fetch::links;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The list, in the home: one directory below the home in each line. This program may replace them.
pub const FILE: &str = ".cudnn-guard";

/// Returns `true` if this program put that directory there.
pub fn is_ours(home: &Path, folder: &str) -> bool {
    let claims = fs::read_to_string(home.join(FILE)).unwrap_or_default();
    claims.lines().any(|line| line == folder)
}

/// Returns `true` if this program put all directories of a component there.
pub fn is_claimed(home: &Path, component: &Component) -> bool {
    component.folders.iter().all(|folder| is_ours(home, folder))
}

/// Returns the component of a kind that this program put there.
pub fn ours(home: &Path, kind: Kind) -> Option<Component> {
    let is_there = |one: &Component| one.wheels(home).iter().any(Option::is_some);
    let mut every = kind.every().into_iter();
    every.find(|one| is_claimed(home, one) && is_there(one))
}

/// Returns a directory below `nvidia` that this program did not put there. The home is then a virtual environment, or
/// what pip filled, and nothing is added to it.
pub fn somebody_elses(home: &Path, kind: Kind) -> Option<PathBuf> {
    let folders = kind.folders().into_iter();
    let mut foreign = folders.filter(|folder| !is_ours(home, folder));
    foreign.find_map(|folder| {
        let path = home.join(folder);
        (path.exists() && !links::is_neighbor(&path)).then_some(path)
    })
}

/// Adds directories to the claims, and drops claims on what is gone. If this is stopped halfway, what it wrote is in the
/// temporary directory.
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
