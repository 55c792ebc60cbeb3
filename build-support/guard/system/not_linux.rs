//! Functions that other systems than Linux do not need, or implement with the standard library.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Returns no file: mapped files cannot be deleted or replaced.
pub fn replaced(_filter: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    Vec::new()
}

/// Does nothing: there are no locks that a child could inherit.
pub fn pass_locks() {}

/// Returns `false`: no program has more privileges than its user.
pub fn is_privileged() -> bool {
    false
}

/// Returns the current value: the loader reads the variable each time.
pub fn first_environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

pub fn metadata(path: &Path, follows: bool) -> std::io::Result<std::fs::Metadata> {
    match follows {
        true => std::fs::metadata(path),
        false => std::fs::symlink_metadata(path),
    }
}

/// Returns `None`: it is not known.
pub fn stack_left() -> Option<usize> {
    None
}

/// Sleeps for this time, and returns `true`.
pub fn pause(time: Duration) -> bool {
    std::thread::sleep(time);
    true
}

/// Returns the largest number: there is no limit.
pub fn most_in_a_file() -> u64 {
    u64::MAX
}

/// Returns `true`: the limit is high.
pub fn can_stay_open(_file: &File) -> bool {
    true
}

/// Returns `false`: only Linux has such sandboxes.
pub fn has_permission(_file: &Path) -> bool {
    false
}

/// Does nothing: no driver needs such a file.
pub fn create_memory_file() -> std::io::Result<()> {
    Ok(())
}

/// Writes to stderr in another thread, and waits for that thread at most a second: stderr may be locked or a full pipe.
/// If no thread can be started, this one writes.
pub fn write_stderr(text: &str) {
    let copy = text.to_string();
    let (sender, receiver) = channel();
    let write = move || {
        let _ = std::io::stderr().write_all(copy.as_bytes());
        let _ = sender.send(());
    };
    match std::thread::Builder::new().spawn(write) {
        Ok(thread) => {
            if receiver.recv_timeout(Duration::from_secs(1)).is_ok() {
                // The program may exit next, which must not meet a thread that is ending.
                let _ = thread.join();
            }
        }
        Err(_) => drop(std::io::stderr().write_all(text.as_bytes())),
    }
}
