//! The lock for one `fetch` at a time in a directory. The system releases it when the process exits for any reason.

use crate::cli::terminal::show_step;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

/// The lock file. It is never removed, since another `fetch` may have opened it already.
pub const FILE: &str = ".fetch.lock";

/// The time between two attempts.
const TICK: Duration = Duration::from_millis(100);

/// Locks a directory that `fetch` has used before, until the file is dropped. Writes nothing into other directories.
pub fn take_existing(home: &Path) -> Option<File> {
    home.join(FILE).exists().then(|| take(home)).flatten()
}

/// Waits, with a message, until no other `fetch` runs in a directory. Returns `None` if the directory is read-only or
/// its file system does not support locks.
pub fn take(home: &Path) -> Option<File> {
    let mut is_shown = false;
    loop {
        match open(&home.join(FILE)) {
            Ok(file) => return Some(file),
            Err(error) if !is_held(&error) => return None,
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

/// Opens and locks the file. `File::try_lock` requires Rust 1.89.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, 0);
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::fd::AsRawFd;
        unsafe extern "C" {
            fn flock(file: i32, operation: i32) -> i32;
        }
        const LOCK_EX: i32 = 2;
        const LOCK_NB: i32 = 4;
        // SAFETY: `flock` takes two integers, and the file descriptor is open.
        if unsafe { flock(file.as_raw_fd(), LOCK_EX | LOCK_NB) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(file)
}

/// Returns `true` for the error of [`open`] while another process holds the lock.
fn is_held(error: &io::Error) -> bool {
    const ERROR_SHARING_VIOLATION: i32 = 32;
    error.kind() == io::ErrorKind::WouldBlock
        || cfg!(windows) && error.raw_os_error() == Some(ERROR_SHARING_VIOLATION)
}
