//! The directory to fetch into. Files are complete before they are moved to their names in it.

use crate::cli::fetch::installed::{claims, is_moved, known_records, names};
use crate::cli::fetch::links;
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
    // Windows opens no directory.
    let file = match cfg!(windows) {
        true => File::options()
            .create(true)
            .append(true)
            .open(home.join(".fetch.lock")),
        false => File::open(home),
    };
    let file = file.ok()?;
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
    pub fn new(home: &Path) -> io::Result<Self> {
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
        // The next `fetch` moves the old files back.
        if names(&self.dir("old")).is_empty() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// Returns the temporary directories in the directory of `fetch`: of processes that run or were killed.
pub fn temporary_dirs(home: &Path) -> Vec<PathBuf> {
    let is_left = |name: &str| {
        let number = name.strip_prefix(TEMPORARY).unwrap_or_default();
        number.len() == 16 && number.chars().all(|c| c.is_ascii_hexdigit())
    };
    files::list_named(home, &is_left).unwrap_or_default()
}

/// Removes the directories of processes that were killed. If one was killed while it moved files, moves its old files
/// back, or all of its new files in. Does nothing without a lock, since another `fetch` may be running.
pub fn restore(home: &Path, lock: Option<&Lock>) -> io::Result<()> {
    if lock.is_none() {
        return Ok(());
    }
    for left in temporary_dirs(home) {
        let [new, old] = ["new", "old"].map(|name| left.join(name));
        // `nvidia` is moved in first, after all old files were moved away.
        let is_new = files::exists(&home.join("nvidia")) && !files::exists(&new.join("nvidia"));
        let from = if is_new { &new } else { &old };
        if is_real_dir(&left) && !names(&old).is_empty() && is_real_dir(from) {
            for name in moved(from) {
                if !files::exists(&home.join(&name)) {
                    fs::rename(from.join(&name), home.join(&name))?;
                }
            }
            let mut claims = claims(home);
            claims.retain(|name| files::exists(&home.join(name)));
            claim(home, &left, &claims)?;
        }
        // Not through a symlink, which is removed itself.
        let _ = fs::remove_dir_all(left);
    }
    Ok(())
}

/// Returns something that `fetch` did not create in the place of these new files or of those that it replaces. The
/// directory may be an environment of pip, and nothing is added to it.
pub fn foreign(home: &Path, new: &[String]) -> Option<PathBuf> {
    let claims = claims(home);
    let nvidia = home.join("nvidia");
    if files::exists(&nvidia) && !is_real_dir(&nvidia) {
        return Some(nvidia);
    }
    let is_own = |path: &PathBuf| {
        let is_claimed = claims.iter().any(|claim| home.join(claim) == *path);
        let is_compiled = |name: &String| name.starts_with("__init__.");
        if path.ends_with("nvidia/__init__.py") {
            let is_own = is_claimed || files::size(path) == 0;
            return files::is_file(path) && !files::is_link(path) && is_own;
        }
        let is_own = is_claimed
            || *path == nvidia
            || path.ends_with("nvidia/__pycache__") && names(path).iter().all(is_compiled)
            || !claims.is_empty() && links::is_neighbor(path);
        is_real_dir(path) && is_own
    };
    let mut places = files::list(&nvidia).unwrap_or_default();
    let names = known_records(home).into_iter().chain([CUTLASS_DIR.into()]);
    let names = names.chain(claims.clone()).chain(new.to_vec());
    places.extend(names.map(|name| home.join(name)));
    let mut places = places.into_iter().filter(|path| files::exists(path));
    places.find(|path| !is_own(path))
}

fn is_real_dir(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Returns the names in a directory that `fetch` moves, the records last.
pub fn moved(dir: &Path) -> Vec<String> {
    let mut moved = names(dir);
    moved.retain(|name| is_moved(name));
    moved.sort_by_key(|name| (name.ends_with(".dist-info"), name != "nvidia"));
    moved
}

/// Moves the new files to their places, and the files that they replace away. No build finds a mixture of both, since
/// all of `nvidia` is moved at once. The records are moved last. So after an interruption, the next `fetch` finds an
/// incomplete installation. After an error, everything is moved back.
pub fn move_in(home: &Path, temporary: &Temporary) -> io::Result<()> {
    let (new, old) = (temporary.dir("new"), temporary.dir("old"));
    let new_names = moved(&new);
    let below = |name: &String| match name.as_str() {
        "nvidia" => names(&new.join("nvidia"))
            .iter()
            .map(|name| format!("nvidia/{name}"))
            .collect(),
        name => vec![name.to_string()],
    };
    let owned: Vec<String> = new_names.iter().flat_map(below).collect();
    let before = claims(home);
    claim(home, &temporary.0, &[&*owned, &before].concat())?;
    let claimed = before.iter().filter_map(|name| name.split('/').next());
    let mut old_names: Vec<&str> = claimed.chain(["nvidia"]).collect();
    old_names.retain(|name| files::exists(&home.join(name)));
    let old_names = files::dedup(old_names.into_iter());
    let away = old_names
        .iter()
        .map(|name| (home.join(name), old.join(name)));
    let moves = away.chain(
        new_names
            .iter()
            .map(|name| (new.join(name), home.join(name))),
    );
    let mut done = Vec::new();
    for (from, to) in moves {
        if let Err(error) = fs::rename(&from, &to) {
            let undone = done
                .iter()
                .rev()
                .try_for_each(|(from, to)| fs::rename(to, from));
            undone.and_then(|()| claim(home, &temporary.0, &before))?;
            return Err(error);
        }
        done.push((from, to));
    }
    claim(home, &temporary.0, &owned)?;
    let _ = fs::remove_dir_all(old);
    Ok(())
}

/// Writes the names that `fetch` created.
fn claim(home: &Path, temporary: &Path, names: &[String]) -> io::Result<()> {
    let fresh = temporary.join("claims");
    fs::write(
        &fresh,
        joined(names.iter().map(|name| format!("{name}\n")), ""),
    )?;
    fs::rename(&fresh, home.join(FETCH_CLAIMS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of another program is in the place of a new record.
    #[test]
    fn after_an_error_everything_is_moved_back() {
        let home = std::env::temp_dir().join(format!("cudnn-guard-home-{}", unique_number()));
        let write = |name: &str, text: &str| {
            let path = home.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        write("nvidia/cu12/file", "old");
        write("nvidia_nvvm-12.dist-info/RECORD", "old");
        write("nvidia_nvvm-13.dist-info/RECORD", "foreign");
        write(FETCH_CLAIMS, "nvidia/cu12\nnvidia_nvvm-12.dist-info\n");
        let before = (names(&home), claims(&home));
        let temporary = Temporary::new(&home).expect("a folder");
        let new = temporary.dir("new");
        for name in ["nvidia/cu13", "nvidia_nvvm-13.dist-info"] {
            fs::create_dir_all(new.join(name)).expect("a folder");
        }
        assert!(move_in(&home, &temporary).is_err());
        drop(temporary);
        let old = fs::read_to_string(home.join("nvidia/cu12/file"));
        assert_eq!((names(&home), claims(&home)), before);
        fs::remove_dir_all(&home).expect("room again");
        assert_eq!(old.expect("the old file"), "old");
    }
}
