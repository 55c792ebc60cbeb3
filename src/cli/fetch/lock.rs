//! The lock for one `fetch` at a time in a directory. The system releases it when the process exits for any reason.

use crate::cli::terminal::show_step;
use fs4::{FileExt, TryLockError};
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::Duration;

/// The lock file.
pub const FILE: &str = ".fetch.lock";

/// The time between two attempts. Each opens the file again, since `fetch --remove` removes it.
const TICK: Duration = Duration::from_millis(100);

/// Locks a directory that `fetch` has used before, until the file is dropped. Writes nothing into other directories.
pub fn take_existing(home: &Path) -> Option<File> {
    home.join(FILE).exists().then(|| take(home)).flatten()
}

/// Waits, with a message, until no other `fetch` runs in a directory. Returns `None` if the directory is read-only or
/// its file system does not support locks.
pub fn take(home: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    let mut is_shown = false;
    loop {
        let file = options.open(home.join(FILE)).ok()?;
        // Not std's, which requires Rust 1.89.
        match FileExt::try_lock(&file) {
            Ok(()) => return Some(file),
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
