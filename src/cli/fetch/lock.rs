//! One `fetch` at a time in a directory. The system releases the lock when its holder ends, however that ends.

use crate::cli::terminal::show;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

/// The file in the directory that is locked. It stays: another `fetch` may have opened it already.
pub const FILE: &str = ".fetch.lock";

/// The time between two attempts.
const TICK: Duration = Duration::from_millis(100);

/// The lock of a directory, until this is dropped.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Locks a directory where `fetch` was before. Nothing is written into any other.
    pub fn take_existing(home: &Path) -> Option<Self> {
        let file = home.join(FILE);
        file.exists().then(|| Self::take(home)).flatten()
    }

    /// Waits, after a line about it, until no other `fetch` is at work in a directory. Returns none if the directory
    /// cannot be written to, or its file system has no locks.
    pub fn take(home: &Path) -> Option<Self> {
        let mut said = false;
        loop {
            match open(&home.join(FILE)) {
                Ok(file) => return Some(Self { _file: file }),
                Err(error) if !is_held(&error) => return None,
                Err(_) if said => std::thread::sleep(TICK),
                Err(_) => {
                    show(format!(
                        "  – {:<12} for another `cudnn-guard fetch` at work in {}\n",
                        "waiting",
                        home.display()
                    ));
                    said = true;
                }
            }
        }
    }
}

/// Opens the file and locks it. `File::try_lock` requires Rust 1.89.
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
    // SAFETY: `flock` takes two numbers, and the first belongs to a file that is open.
    match unsafe { flock(file.as_raw_fd(), LOCK_EX | LOCK_NB) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Opens the file for this process only.
#[cfg(windows)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(false).write(true);
    options.share_mode(0).open(path)
}

/// Returns `true` for the error of [`open`] while another process has the file.
fn is_held(error: &io::Error) -> bool {
    const ERROR_SHARING_VIOLATION: i32 = 32;
    error.kind() == io::ErrorKind::WouldBlock
        || cfg!(windows) && error.raw_os_error() == Some(ERROR_SHARING_VIOLATION)
}
