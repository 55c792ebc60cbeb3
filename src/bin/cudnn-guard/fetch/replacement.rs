//! A component beside the one that is there, which it takes the place of once it is whole.

use crate::fetch::claims::claim;
use crate::fetch::component::Component;
use crate::fetch::installed::failed;
use crate::fetch::installer::Installer;
use crate::fetch::wheels::{self, Wheel};
use crate::terminal::show;
use cudnn_guard::{Finding, FindingId};
use std::path::{Path, PathBuf};
use std::{fs, io};

const TEMPORARY: &str = ".fetching-";

/// What `old` is called there once the new folders are in its place.
const REPLACED: &str = "replaced";

/// Installs a component into a folder of its own, looks at it, and moves it in whole.
pub fn fetch_one(
    installer: &Installer,
    home: &Path,
    component: &Component,
) -> Result<String, Finding> {
    let temporary = home.join(format!("{TEMPORARY}{}", std::process::id()));
    let fresh = temporary.join("new");
    let result = fs::create_dir_all(&fresh)
        .map_err(|error| failed("create", &fresh, &error))
        .and_then(|()| {
            show(format!("  fetching {}\n", component.title));
            let damaged = component.wheels(home);
            let anew = damaged
                .iter()
                .flatten()
                .any(|wheel| wheel.damage().is_some());
            installer.install(component, &fresh, anew)?;
            let release = component.check(&fresh).map_err(|why| {
                let why = why.unwrap_or_else(|| "nothing was installed".to_string());
                Finding::error(
                    FindingId::FetchFailed,
                    format!("what was fetched is not whole: {why}"),
                )
                .help("run the same command again")
            })?;
            move_in(home, component, &temporary).map_err(|error| failed("change", home, &error))?;
            Ok(release)
        });
    match result {
        Ok(_) => drop(fs::remove_dir_all(&temporary)),
        // The records of what was there go back.
        Err(_) => remove_leftovers(home),
    }
    result
}

/// Puts a component in the place of the one that is there, be it for another CUDA. The records go first and come last:
/// whatever stops this half-way, the next `fetch` sees a component that is not whole.
fn move_in(home: &Path, component: &Component, temporary: &Path) -> io::Result<()> {
    let old = temporary.join("old");
    let fresh = temporary.join("new");
    fs::create_dir_all(old.join("nvidia"))?;
    fs::create_dir_all(home.join("nvidia"))?;
    let every = component.every();
    let records = every.iter().flat_map(|one| one.wheels(home)).flatten();
    move_records(records, &old)?;
    claim(home, &component.folders, temporary)?;
    if !component.is_cudnn() {
        wheels::remove_neighbours(home)?;
    }
    for folder in every.iter().flat_map(|one| &one.folders) {
        if home.join(folder).exists() {
            fs::rename(home.join(folder), old.join(folder))?;
        }
    }
    for folder in &component.folders {
        fs::rename(fresh.join(folder), home.join(folder))?;
    }
    fs::rename(&old, temporary.join(REPLACED))?;
    move_records(component.wheels(&fresh).into_iter().flatten(), home)?;
    claim(home, &component.folders, temporary)
}

fn move_records(wheels: impl Iterator<Item = Wheel>, to: &Path) -> io::Result<()> {
    for wheel in wheels {
        if let Some(name) = wheel.info.file_name() {
            fs::rename(&wheel.info, to.join(name))?;
        }
    }
    Ok(())
}

/// What earlier runs that were killed have left.
pub fn leftovers(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(TEMPORARY))
        .map(|entry| entry.path())
        .collect()
}

/// Removes it. Who has the lock is alone. The records of what was to be replaced go back, since they tell which release
/// that was; once the new folders are in place, the new records go in.
pub fn remove_leftovers(home: &Path) {
    for temporary in leftovers(home) {
        let records = temporary.join(match temporary.join(REPLACED).exists() {
            true => "new",
            false => "old",
        });
        for any in Component::both() {
            let every = any.every();
            let wheels = every.iter().flat_map(|one| one.wheels(&records)).flatten();
            let _ = move_records(wheels, home);
        }
        let _ = fs::remove_dir_all(temporary);
    }
}
