//! The directory to fetch into, the directories in it that this program owns, and the replacement of a component.

use crate::cli::fetch::component::Component;
use crate::cli::fetch::fault::{FetchFault, failed};
use crate::cli::fetch::installer::Installer;
use crate::cli::fetch::links;
use crate::cli::fetch::wheel::Wheel;
use crate::cli::terminal::show;
use crate::model::kind::Kind;
use crate::system::files;
use crate::toolkit::package_names::FETCH_CLAIMS;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The prefix of temporary directories, followed by the process id.
const TEMPORARY: &str = ".fetching-";

/// The directory for the old files in the temporary directory, when the new files are already in the home.
const REPLACED: &str = "replaced";

/// Returns `true` if this program created that directory.
pub fn is_ours(home: &Path, dir: &str) -> bool {
    let claims = fs::read_to_string(home.join(FETCH_CLAIMS)).unwrap_or_default();
    claims.lines().any(|line| line == dir)
}

/// Returns `true` if this program created all directories of a component.
pub fn is_claimed(home: &Path, component: &Component) -> bool {
    component.dirs.iter().all(|dir| is_ours(home, dir))
}

/// Returns the component of a kind that this program installed, with its libraries.
pub fn ours(home: &Path, kind: Kind) -> Option<Component> {
    let is_installed = |one: &Component| one.wheels(home).iter().any(Option::is_some);
    let mut every = kind.every().into_iter();
    let ours = every.find(|one| is_claimed(home, one) && is_installed(one));
    ours.map(|one| one.with_installed(home))
}

/// Returns a directory below `nvidia` that this program did not create. The home is then a virtual environment or
/// another directory of pip, and nothing is added to it.
pub fn foreign_directory(home: &Path, kind: Kind) -> Option<PathBuf> {
    let dirs = kind.dirs().into_iter();
    let foreign = dirs.filter(|dir| !is_ours(home, dir));
    let mut paths = foreign.map(|dir| home.join(dir));
    paths.find(|path| path.exists() && !links::is_neighbor(path))
}

/// Adds directories to the claims, and drops claims on missing ones. If it is interrupted, its incomplete file is in
/// the temporary directory.
fn claim(home: &Path, dirs: &[String], temporary: &Path) -> io::Result<()> {
    let path = home.join(FETCH_CLAIMS);
    let before = fs::read_to_string(&path).unwrap_or_default();
    let others = before
        .lines()
        .filter(|line| !dirs.iter().any(|dir| dir == line) && home.join(line).exists());
    let lines = others.chain(dirs.iter().map(String::as_str));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let fresh = temporary.join("claims");
    fs::write(&fresh, text)?;
    fs::rename(&fresh, &path)
}

/// Installs a component into a temporary directory, checks it there, and moves it to its place. Returns its version.
pub fn replace(
    installer: &Installer,
    home: &Path,
    component: &Component,
) -> Result<String, FetchFault> {
    let temporary = home.join(format!("{TEMPORARY}{}", std::process::id()));
    let result = install(installer, home, component, &temporary);
    clean_up(home, &temporary);
    result
}

fn install(
    installer: &Installer,
    home: &Path,
    component: &Component,
    temporary: &Path,
) -> Result<String, FetchFault> {
    let fresh = &temporary.join("new");
    fs::create_dir_all(fresh).map_err(failed("create", fresh))?;
    show(format!("  fetching {}\n", component.kind.product()));
    let wheels = component.wheels(home);
    let mut installed = wheels.iter().flatten();
    let is_damaged = installed.any(|wheel| wheel.damage().is_some());
    installer.install(component, fresh, is_damaged)?;
    let checked = component.check(fresh);
    let release = checked.map_err(FetchFault::IncompleteDownload)?;
    move_in(home, component, temporary).map_err(failed("change", home))?;
    Ok(release)
}

/// Moves a component to the place of the installed one, which may be for another CUDA. The old records are moved away
/// first, and the new ones are moved last. So after an interruption, the next `fetch` finds an incomplete component.
fn move_in(home: &Path, component: &Component, temporary: &Path) -> io::Result<()> {
    let (old, fresh) = (temporary.join("old"), temporary.join("new"));
    fs::create_dir_all(old.join("nvidia"))?;
    fs::create_dir_all(home.join("nvidia"))?;
    move_records(component.kind.wheels(home), &old)?;
    claim(home, &component.dirs, temporary)?;
    if component.kind == Kind::Toolkit {
        links::remove_neighbors(home)?;
    }
    for dir in component.kind.dirs() {
        if home.join(&dir).exists() {
            fs::rename(home.join(&dir), old.join(dir))?;
        }
    }
    for dir in &component.dirs {
        fs::rename(fresh.join(dir), home.join(dir))?;
    }
    fs::rename(&old, temporary.join(REPLACED))?;
    move_records(component.kind.wheels(&fresh), home)?;
    claim(home, &component.dirs, temporary)
}

fn move_records(wheels: Vec<Wheel>, to: &Path) -> io::Result<()> {
    for wheel in wheels {
        let name = wheel.info.file_name().unwrap_or_default();
        fs::rename(&wheel.info, to.join(name))?;
    }
    Ok(())
}

/// Returns the temporary directories. While the lock is held, they belong to processes that were interrupted.
pub fn leftovers(home: &Path) -> Vec<PathBuf> {
    files::list_named(home, &|name| name.starts_with(TEMPORARY)).unwrap_or_default()
}

/// Removes a temporary directory. The old records are restored, since the next `fetch` reads the version from them. If
/// the new directories are in place, the new records are moved after them.
pub fn clean_up(home: &Path, temporary: &Path) {
    let records = if temporary.join(REPLACED).exists() {
        temporary.join("new")
    } else {
        temporary.join("old")
    };
    for kind in Kind::BOTH {
        let _ = move_records(kind.wheels(&records), home);
    }
    let _ = fs::remove_dir_all(temporary);
}
