//! The lock for one `fetch` at a time in a directory. The system releases it when the process exits for any reason.

use crate::cli::terminal::show;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

/// The lock file. It is never removed, since another `fetch` may have opened it already.
pub const FILE: &str = ".fetch.lock";

/// The time between two attempts.
const TICK: Duration = Duration::from_millis(100);

/// The lock of a directory, which is released on drop.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Locks a directory that `fetch` has used before. Writes nothing into other directories.
    pub fn take_existing(home: &Path) -> Option<Self> {
        let file = home.join(FILE);
        file.exists().then(|| Self::take(home)).flatten()
    }

    /// Waits, with a message, until no other `fetch` runs in a directory. Returns `None` if the directory is read-only
    /// or its file system does not support locks.
    pub fn take(home: &Path) -> Option<Self> {
        let mut is_shown = false;
        loop {
            match open(&home.join(FILE)) {
                Ok(file) => return Some(Self { _file: file }),
                Err(error) if !is_held(&error) => return None,
                Err(_) if is_shown => std::thread::sleep(TICK),
                Err(_) => {
                    show(format!(
                        "  – {:<12} for another `cudnn-guard fetch` at work in {}\n",
                        "waiting",
                        home.display()
                    ));
                    is_shown = true;
                }
            }
        }
    }
}

/// Opens and locks the file. `File::try_lock` requires Rust 1.89.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    unsafe extern "C" {
        fn flock(file: i32, operation: i32) -> i32;
    }
    const LOCK_EX: i32 = 2;
    const LOCK_NB: i32 = 4;
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(false).write(true);
    let file = options.open(path)?;
    // SAFETY: `flock` takes two integers, and the file descriptor is open.
    match unsafe { flock(file.as_raw_fd(), LOCK_EX | LOCK_NB) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Opens the file exclusively.
#[cfg(windows)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(false).write(true);
    options.share_mode(0).open(path)
}

/// Returns `true` for the error of [`open`] while another process holds the lock.
fn is_held(error: &io::Error) -> bool {
    const ERROR_SHARING_VIOLATION: i32 = 32;
    error.kind() == io::ErrorKind::WouldBlock
        || cfg!(windows) && error.raw_os_error() == Some(ERROR_SHARING_VIOLATION)
}
