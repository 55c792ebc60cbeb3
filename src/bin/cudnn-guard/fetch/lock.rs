//! One `fetch` at a time in a folder. The system takes the lock back when its holder ends, however that ends.

use crate::terminal::show;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

/// The file in the folder that is locked. It stays: another `fetch` may have opened it already.
pub const FILE: &str = ".fetch.lock";

/// How long to wait before the lock is tried again.
const TICK: Duration = Duration::from_millis(100);

/// A folder's lock, until this goes away.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// The lock of a folder where `fetch` was before; nothing is written into any other.
    pub fn take_existing(home: &Path) -> Option<Self> {
        let file = home.join(FILE);
        file.exists().then(|| Self::take(home)).flatten()
    }

    /// Waits, saying so, until no other `fetch` is at work in a folder. None where the folder cannot be written to, or
    /// its file system has no locks.
    pub fn take(home: &Path) -> Option<Self> {
        let mut said = false;
        loop {
            if let Some(file) = open(&home.join(FILE)).ok()? {
                return Some(Self { _file: file });
            }
            if !said {
                show(format!(
                    "  – {:<12} for another `cudnn-guard fetch` at work in {}\n",
                    "waiting",
                    home.display()
                ));
                said = true;
            }
            std::thread::sleep(TICK);
        }
    }
}

/// The file, locked; none while another process has it. `File::try_lock` wants Rust 1.89.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<Option<File>> {
    use std::os::fd::AsRawFd;
    unsafe extern "C" {
        fn flock(file: i32, operation: i32) -> i32;
    }
    const LOCK_EX: i32 = 2;
    const LOCK_NB: i32 = 4;
    let mut options = OpenOptions::new();
    let file = options
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    // SAFETY: `flock` takes two numbers, and the first belongs to a file that is open.
    if unsafe { flock(file.as_raw_fd(), LOCK_EX | LOCK_NB) } == 0 {
        return Ok(Some(file));
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock => Ok(None),
        _ => Err(error),
    }
}

/// The file, opened for this process alone; none while another process has it open.
#[cfg(windows)]
fn open(path: &Path) -> io::Result<Option<File>> {
    use std::os::windows::fs::OpenOptionsExt;
    const ERROR_SHARING_VIOLATION: i32 = 32;
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(false).write(true);
    match options.share_mode(0).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => Ok(None),
        Err(error) => Err(error),
    }
}
