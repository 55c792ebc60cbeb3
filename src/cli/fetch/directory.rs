//! The directory of `fetch`, which belongs to it as a whole. New files are complete before they are moved:
//!
//! ```text
//! .fetching/new  the new files
//! .fetching/tmp  temporary files of uv, pip and this program, and then the files that are replaced
//! ```

use crate::Finding;
use crate::cli::fetch::fault::{failed, in_home};
use crate::cli::fetch::installed::{Installed, is_of_fetch};
use crate::cli::terminal::show_step;
use crate::system::files;
use crate::toolkit::package_names::FETCH_MARKER;
use fs4::{FileExt, TryLockError};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The temporary directory, which no build searches.
pub const TEMPORARY: &str = ".fetching";
/// The file that is locked: Windows opens no directory, and NFS locks only files that are open for writing.
const LOCK: &str = ".fetch.lock";

/// Creates a directory, and waits until no other `fetch` runs in it. The system releases the lock when the process exits.
/// Fails if the file system has no locks: a second `fetch` would remove the files of the first one.
pub fn lock(home: &Path) -> io::Result<File> {
    fs::create_dir_all(home)?;
    let path = home.join(LOCK);
    if files::is_link(&path) {
        return Err(io::Error::other(format!("{LOCK} is a link")));
    }
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(path)?;
    // Not std's locks, which require Rust 1.89.
    match FileExt::try_lock(&file) {
        Err(TryLockError::WouldBlock) => {
            let text = "for another `cudnn-guard fetch` that is running in ";
            show_step("i", "waiting", format!("{text}{}", home.display()));
            FileExt::lock(&file)?;
        }
        locked => locked?,
    }
    Ok(file)
}

pub fn temporary(home: &Path, name: &str) -> PathBuf {
    home.join(TEMPORARY).join(name)
}

/// Returns `true` if a `fetch` is running in a directory or was killed there.
pub fn is_unfinished(home: &Path) -> bool {
    let is_real_dir = |path: &Path| path.is_dir() && !files::is_link(path);
    let own = ["new", "tmp"].map(|name| temporary(home, name));
    let is_own = |path: &PathBuf| own.contains(path) && is_real_dir(path);
    let dir = home.join(TEMPORARY);
    let is_own = files::list(&dir).is_ok_and(|paths| paths.iter().all(is_own));
    is_real_dir(&dir) && is_own && files::exists(&home.join(LOCK))
}

/// Lists the new files in their marker. It appears as a whole: from then on, they are complete.
pub fn mark(home: &Path, mut listed: BTreeSet<String>) -> io::Result<()> {
    listed.insert(FETCH_MARKER.to_string());
    let text = temporary(home, "tmp").join(FETCH_MARKER);
    fs::write(&text, Vec::from_iter(listed).join("\n"))?;
    fs::rename(text, temporary(home, "new").join(FETCH_MARKER))
}

/// Replaces the old files if the new ones are complete, and removes the temporary directory. After a kill at any moment,
/// the next call continues: each marker is moved after the files that it lists.
pub fn finish(home: &Path) -> Result<(), Finding> {
    if !is_unfinished(home) {
        return Ok(());
    }
    check_owned(home)?;
    let new = temporary(home, "new");
    let is_marked = |dir: &Path| files::exists(&dir.join(FETCH_MARKER));
    if is_marked(&new) && is_marked(home) {
        // A build finds all or nothing.
        move_all(home, &temporary(home, "tmp"), true).map_err(in_home(home))?;
    }
    if is_marked(&new) {
        move_all(&new, home, false).map_err(in_home(home))?;
    }
    fs::remove_dir_all(home.join(TEMPORARY)).map_err(in_home(home))
}

/// Moves the files of `fetch` to another directory: `nvidia` before or after the records, and then the marker.
fn move_all(from: &Path, to: &Path, is_first: bool) -> io::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(from)? {
        names.extend(entry?.file_name().into_string());
    }
    names.retain(|name| is_of_fetch(name));
    names.sort_by_key(|name| (name == FETCH_MARKER, (name == "nvidia") != is_first));
    let mut names = names.iter();
    names.try_for_each(|name| fs::rename(from.join(name), to.join(name)))
}

/// Refuses a directory with a file or link that no marker lists.
pub fn check_owned(home: &Path) -> Result<(), Finding> {
    let found = match home.is_dir() {
        true => list(home).map_err(in_home(home))?,
        false => return Ok(()),
    };
    let mut own = Installed::new(&temporary(home, "new"));
    // A `fetch` that was killed has already moved what is listed and not there.
    own.files
        .retain(|file| !files::exists(&own.home.join(file)));
    own.files.extend(Installed::new(home).files);
    let Some(path) = found.difference(&own.files).next() else {
        return Ok(());
    };
    let path = home.join(path);
    let reason = "was not created by cudnn-guard, so `fetch` does not change its directory";
    let finding = failed(format!("`{}` {reason}", path.display()));
    Err(finding.help("fetch into a new or empty directory with `--to DIR`"))
}

/// Lists the files and links in a directory, without the lock and those of a running or killed `fetch`.
pub fn list(home: &Path) -> io::Result<BTreeSet<String>> {
    let (mut found, mut dirs) = (BTreeSet::new(), vec![String::new()]);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(home.join(&dir))? {
            let entry = entry?;
            let path = format!("{dir}{}", entry.file_name().to_string_lossy());
            match entry.file_type()?.is_dir() {
                _ if path == LOCK || path == TEMPORARY && is_unfinished(home) => {}
                true if path != TEMPORARY => dirs.push(path + "/"),
                _ => _ = found.insert(path),
            }
        }
    }
    Ok(found)
}
