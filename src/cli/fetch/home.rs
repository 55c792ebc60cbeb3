//! The directory that is fetched into: which of its directories this program put there, and how a component takes the
//! place of another.

use crate::cli::fetch::component::Component;
use crate::cli::fetch::fault::{FetchFault, failed};
use crate::cli::fetch::installer::Installer;
use crate::cli::fetch::links;
use crate::cli::fetch::wheel::Wheel;
use crate::cli::terminal::show;
use crate::model::kind::Kind;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The list of the directories below the home that this program put there, and so may replace.
pub const CLAIMS: &str = ".cudnn-guard";

/// What is not complete yet is in a directory with this name and the number of the process.
const TEMPORARY: &str = ".fetching-";

/// The name of `old` in the temporary directory once the new directories are in the home.
const REPLACED: &str = "replaced";

/// Returns `true` if this program put that directory there.
pub fn is_ours(home: &Path, folder: &str) -> bool {
    let claims = fs::read_to_string(home.join(CLAIMS)).unwrap_or_default();
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
fn claim(home: &Path, folders: &[String], temporary: &Path) -> io::Result<()> {
    let path = home.join(CLAIMS);
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

/// Installs a component into a temporary directory, checks it there, and puts it in its place. Returns its release.
pub fn replace(
    installer: &Installer,
    home: &Path,
    component: &Component,
) -> Result<String, FetchFault> {
    let temporary = home.join(format!("{TEMPORARY}{}", std::process::id()));
    let fetched = install(installer, home, component, &temporary.join("new"));
    let result = fetched.and_then(|release| {
        move_in(home, component, &temporary).map_err(failed("change", home))?;
        Ok(release)
    });
    clean_up(home, &temporary);
    result
}

fn install(
    installer: &Installer,
    home: &Path,
    component: &Component,
    fresh: &Path,
) -> Result<String, FetchFault> {
    fs::create_dir_all(fresh).map_err(failed("create", fresh))?;
    show(format!("  fetching {}\n", component.kind.product()));
    let wheels = component.wheels(home);
    let mut there = wheels.iter().flatten();
    let is_damaged = there.any(|wheel| wheel.damage().is_some());
    installer.install(component, fresh, is_damaged)?;
    let checked = component.check(fresh);
    checked.map_err(FetchFault::IncompleteDownload)
}

/// Puts a component in the place of the present one, which may be for another CUDA. The present records are moved away
/// first and the new ones come last: if this is stopped halfway, the next `fetch` finds a component that is not complete.
fn move_in(home: &Path, component: &Component, temporary: &Path) -> io::Result<()> {
    let (old, fresh) = (temporary.join("old"), temporary.join("new"));
    fs::create_dir_all(old.join("nvidia"))?;
    fs::create_dir_all(home.join("nvidia"))?;
    move_records(component.kind.wheels(home), &old)?;
    claim(home, &component.folders, temporary)?;
    if component.kind == Kind::Toolkit {
        links::remove_neighbors(home)?;
    }
    for folder in component.kind.folders() {
        if home.join(&folder).exists() {
            fs::rename(home.join(&folder), old.join(folder))?;
        }
    }
    for folder in &component.folders {
        fs::rename(fresh.join(folder), home.join(folder))?;
    }
    fs::rename(&old, temporary.join(REPLACED))?;
    move_records(component.kind.wheels(&fresh), home)?;
    claim(home, &component.folders, temporary)
}

fn move_records(wheels: Vec<Wheel>, to: &Path) -> io::Result<()> {
    for wheel in wheels {
        fs::rename(
            &wheel.info,
            to.join(wheel.info.file_name().unwrap_or_default()),
        )?;
    }
    Ok(())
}

/// Returns the temporary directories. Whoever has the lock finds only those of processes that were stopped.
pub fn leftovers(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let is_temporary = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with(TEMPORARY)
    };
    let temporary = entries.filter(is_temporary);
    temporary.map(|entry| entry.path()).collect()
}

/// Removes a temporary directory. The records of what was to be replaced return, since the next `fetch` reads from them
/// which release that was; if the new directories are in place, the new records follow them.
pub fn clean_up(home: &Path, temporary: &Path) {
    let records = match temporary.join(REPLACED).exists() {
        true => temporary.join("new"),
        false => temporary.join("old"),
    };
    for kind in Kind::BOTH {
        let _ = move_records(kind.wheels(&records), home);
    }
    let _ = fs::remove_dir_all(temporary);
}
