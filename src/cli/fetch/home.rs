//! The directory to fetch into. Files are complete before they are moved to their names in it.

use crate::cli::fetch::installed::{claims, is_moved, names};
use crate::cli::terminal::show_step;
use crate::model::text::joined;
use crate::runtime::system::unique_number;
use crate::system::files;
use crate::toolkit::package_names::{CUTLASS_DIR, FETCH_CLAIMS};
use fs4::{FileExt, TryLockError};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The prefix of temporary directories, which no build searches.
const TEMPORARY: &str = ".fetching-";

/// The time between two attempts to lock the directory.
const TICK: Duration = Duration::from_millis(100);

/// A lock on the directory: one `fetch` at a time. The system releases the lock when the process exits for any reason.
pub struct Lock(#[allow(dead_code, reason = "open while the lock is held")] File);

/// Waits, with a message, until no other `fetch` runs in a directory. Returns `None` if the system cannot lock it.
pub fn lock(home: &Path) -> Option<Lock> {
    let mut is_shown = false;
    let file = File::open(home).ok()?;
    loop {
        // Not std's, which requires Rust 1.89.
        match FileExt::try_lock(&file) {
            Ok(()) => return Some(Lock(file)),
            Err(TryLockError::Error(_)) => return None,
            Err(_) if is_shown => std::thread::sleep(TICK),
            Err(_) => {
                let home = home.display();
                let text = format!("for another `cudnn-guard fetch` that is running in {home}");
                show_step("i", "waiting", text);
                is_shown = true;
            }
        }
    }
}

/// A new directory in the directory of `fetch`, and so on its file system, which is removed when it is dropped:
///
/// ```text
/// .fetching-<number>/new  the files, until they are complete
/// .fetching-<number>/old  the files that they replace
/// .fetching-<number>/tmp  temporary files of uv or pip
/// ```
pub struct Temporary(PathBuf);

impl Temporary {
    /// Creates the directory. With a lock, also removes those of processes that were killed.
    pub fn new(home: &Path, lock: Option<&Lock>) -> io::Result<Self> {
        let is_left = |name: &str| lock.is_some() && name.starts_with(TEMPORARY);
        for left in files::list_named(home, &is_left).unwrap_or_default() {
            // Not through a symlink, which is removed itself.
            let _ = fs::remove_dir_all(left);
        }
        let dir = home.join(format!("{TEMPORARY}{:016x}", unique_number()));
        fs::create_dir(&dir)?;
        let temporary = Self(dir);
        for name in ["new", "old", "tmp"] {
            fs::create_dir(temporary.dir(name))?;
        }
        Ok(temporary)
    }

    pub fn dir(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns something in the place of the new files that `fetch` did not create: a symlink, or a directory below
/// `nvidia`. The directory may be an environment of pip, and nothing is added to it.
pub fn foreign(home: &Path) -> Option<PathBuf> {
    let claims = claims(home);
    let is_dir = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let is_claimed = |path: &Path| claims.iter().any(|claim| home.join(claim) == path);
    let nvidia = home.join("nvidia");
    if files::exists(&nvidia) && !is_dir(&nvidia) {
        return Some(nvidia);
    }
    let mut places = files::list(&nvidia).unwrap_or_default();
    places.push(home.join(CUTLASS_DIR));
    places.extend(claims.iter().map(|claim| home.join(claim)));
    places.retain(|path| !path.ends_with("__init__.py") && !path.ends_with("__pycache__"));
    let mut places = places.into_iter().filter(|path| files::exists(path));
    places.find(|path| !is_dir(path) || !is_claimed(path) && !files::is_link(&path.join("lib")))
}

/// Moves the new files to their places, and the files that they replace away. No build finds a mixture of both, since
/// all of `nvidia` is moved at once. The records are moved last. So after an interruption, the next `fetch` finds an
/// incomplete installation.
pub fn move_in(home: &Path, temporary: &Temporary) -> io::Result<()> {
    let (new, old) = (temporary.dir("new"), temporary.dir("old"));
    let mut moved = names(&new);
    moved.retain(|name| is_moved(name));
    moved.sort_by_key(|name| name.ends_with(".dist-info"));
    let below = |name: &String| match name.as_str() {
        "nvidia" => names(&new.join("nvidia"))
            .iter()
            .map(|name| format!("nvidia/{name}"))
            .collect(),
        name => vec![name.to_string()],
    };
    let owned: Vec<String> = moved.iter().flat_map(below).collect();
    let before = claims(home);
    claim(home, temporary, &[&*owned, &before].concat())?;
    let claimed = before.iter().filter_map(|name| name.split('/').next());
    let replaced = claimed.chain(["nvidia"]);
    for name in replaced.filter(|name| files::exists(&home.join(name))) {
        if let Err(error) = fs::rename(home.join(name), old.join(name)) {
            for name in names(&old) {
                let _ = fs::rename(old.join(&name), home.join(&name));
            }
            return Err(error);
        }
    }
    for name in &moved {
        fs::rename(new.join(name), home.join(name))?;
    }
    claim(home, temporary, &owned)
}

/// Writes the names that `fetch` created.
fn claim(home: &Path, temporary: &Temporary, names: &[String]) -> io::Result<()> {
    let fresh = temporary.dir("claims");
    fs::write(
        &fresh,
        joined(names.iter().map(|name| format!("{name}\n")), ""),
    )?;
    fs::rename(&fresh, home.join(FETCH_CLAIMS))
}
