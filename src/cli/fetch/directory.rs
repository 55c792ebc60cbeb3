//! The directory of `fetch`, which belongs to it as a whole. New files are complete before they are moved:
//!
//! ```text
//! .fetching/new  the new files
//! .fetching/old  the files that they replace
//! .fetching/tmp  temporary files of uv, pip and the C compiler
//! ```

use crate::Finding;
use crate::cli::fetch::fault;
use crate::cli::fetch::installed::Installed;
use crate::cli::terminal::show_step;
use crate::system::files;
use crate::toolkit::package_names::FETCH_MARKER;
use fs4::{FileExt, TryLockError};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The temporary directory, which no build searches.
const TEMPORARY: &str = ".fetching";
/// The file that is locked: Windows opens no directory, and NFS locks only files that are open for writing.
const LOCK: &str = ".fetch.lock";

/// Waits, with a message, until no other `fetch` runs in a directory. The system releases the lock when the process exits
/// for any reason.
///
/// # Errors
/// Also if the file system has no locks: a second `fetch` would remove the files of the first one.
pub fn lock(home: &Path) -> io::Result<File> {
    let path = home.join(LOCK);
    if files::is_link(&path) {
        return Err(io::Error::other(format!("{LOCK} is a link")));
    }
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    // Not std's locks, which require Rust 1.89.
    match FileExt::try_lock(&file) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let home = home.display();
            let text = format!("for another `cudnn-guard fetch` that is running in {home}");
            show_step("i", "waiting", text);
            FileExt::lock(&file)?;
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    Ok(file)
}

/// Returns a directory below the temporary one.
pub fn temporary(home: &Path, name: &str) -> PathBuf {
    home.join(TEMPORARY).join(name)
}

/// Returns `true` if a `fetch` is running in a directory or was killed there.
pub fn is_unfinished(home: &Path) -> bool {
    let dir = home.join(TEMPORARY);
    let is_own = |name: &OsString| ["new", "old", "tmp"].iter().any(|own| name == own);
    is_real_dir(&dir) && files::names(&dir).is_ok_and(|names| names.iter().all(is_own))
}

/// Creates the temporary directory.
pub fn prepare(home: &Path) -> io::Result<()> {
    let mut names = ["new", "old", "tmp"].into_iter();
    names.try_for_each(|name| fs::create_dir_all(temporary(home, name)))
}

/// Replaces the files in the directory by the new ones. [`restore`] undoes what is left after an error.
pub fn replace(home: &Path) -> io::Result<()> {
    move_all(home, &temporary(home, "old"), Nvidia::First)?;
    move_all(&temporary(home, "new"), home, Nvidia::First)
}

/// Completes or undoes the replacement of a `fetch` that failed or was killed, and removes the temporary directory.
pub fn restore(home: &Path) -> io::Result<()> {
    let (new, old) = (temporary(home, "new"), temporary(home, "old"));
    if !is_unfinished(home) {
        return Ok(());
    }
    if files::exists(&new.join(FETCH_MARKER)) && !files::exists(&new.join("nvidia")) {
        move_all(&new, home, Nvidia::First)?;
    } else {
        // If this is interrupted, the new files must not look like those of an interrupted replacement.
        if is_real_dir(&new) && files::exists(&new.join(FETCH_MARKER)) {
            fs::remove_file(new.join(FETCH_MARKER))?;
        }
        if !files::exists(&home.join("nvidia")) {
            move_all(&old, home, Nvidia::Last)?;
        }
    }
    fs::remove_dir_all(home.join(TEMPORARY))
}

/// When `nvidia` is moved: first, and the marker last; or last, so that a `fetch` after this one continues.
#[derive(PartialEq)]
enum Nvidia {
    First,
    Last,
}

/// Moves the files of `fetch` from one directory to another.
fn move_all(from: &Path, to: &Path, nvidia: Nvidia) -> io::Result<()> {
    let mut names = Vec::new();
    if is_real_dir(from) {
        for entry in fs::read_dir(from)? {
            names.extend(entry?.file_name().into_string());
        }
    }
    names.retain(|name| is_of_fetch(name));
    names.sort_by_key(|name| (name == FETCH_MARKER, name != "nvidia"));
    if nvidia == Nvidia::Last {
        names.reverse();
    }
    let mut names = names.iter();
    names.try_for_each(|name| fs::rename(from.join(name), to.join(name)))
}

/// Returns `true` for the paths that `fetch` creates in its directory.
pub fn is_of_fetch(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    ["nvidia", FETCH_MARKER].contains(&first) || first.ends_with(".dist-info")
}

fn is_real_dir(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Writes the marker of complete files.
pub fn mark(new: &Path) -> io::Result<()> {
    let marker = new.join(FETCH_MARKER);
    fs::write(&marker, "")?;
    let mut listed = Vec::new();
    list(new, "", &mut listed)?;
    fs::write(&marker, listed.join("\n"))
}

/// Refuses a directory with a file or link that its marker does not list.
pub fn check_owned(home: &Path) -> Result<(), Finding> {
    let mut found = Vec::new();
    if files::is_dir(home) {
        list(home, "", &mut found).map_err(fault::home("read", home))?;
    }
    let own = Installed::new(home).files;
    match found
        .iter()
        .find(|path| !own.contains(*path) && *path != LOCK)
    {
        Some(path) => Err(fault::foreign(&home.join(path))),
        None => Ok(()),
    }
}

/// Lists the files and links below a directory, without those of a running or killed `fetch`.
fn list(dir: &Path, prefix: &str, found: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let path = format!("{prefix}{}", name.to_string_lossy());
        match entry.file_type()?.is_dir() {
            true if path == TEMPORARY => {
                if !is_unfinished(dir) {
                    found.push(path);
                }
            }
            true => list(&entry.path(), &format!("{path}/"), found)?,
            false => found.push(path),
        }
    }
    Ok(())
}
