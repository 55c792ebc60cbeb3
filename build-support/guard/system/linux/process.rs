//! This process on Linux: its environment, its privileges and its limits.

use crate::runtime::system::platform::mapped::mapped;
use crate::runtime::system::{Library, path_cache};
use std::ffi::{CStr, OsStr, OsString, c_char, c_int, c_long, c_short, c_ulong};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

const DT_STRTAB: c_long = 5;
const DT_RPATH: c_long = 15;
const DT_RUNPATH: c_long = 29;
const AT_SECURE: c_ulong = 23;
const RLIMIT_FSIZE: c_int = 1;
const RLIMIT_NOFILE: c_int = 7;

unsafe extern "C" {
    fn getauxval(kind: c_ulong) -> c_ulong;
    fn syscall(number: c_long, ...) -> c_long;
    fn getrlimit(resource: c_int, limit: *mut [u64; 2]) -> c_int;
    fn access(path: *const c_char, mode: c_int) -> c_int;
    pub fn poll(fds: *mut PollFd, count: c_ulong, milliseconds: c_int) -> c_int;
}

/// A file descriptor to wait for, as `poll(2)` takes it.
#[repr(C)]
pub struct PollFd {
    pub fd: c_int,
    pub events: c_short,
    pub revents: c_short,
}

/// Takes and releases the loader's two locks, for opening and for listing libraries.
pub fn pass_locks() {
    Library::program();
    mapped();
}

/// Returns the search paths in the program: DT_RPATH, DT_RUNPATH.
pub fn program_paths() -> (Option<OsString>, Option<OsString>) {
    let Some(map) = Library::program().and_then(Library::link_map) else {
        return (None, None);
    };
    let (mut strings, mut rpath, mut runpath) = (0, None, None);
    // SAFETY: the dynamic section of a running program ends in DT_NULL; DT_RPATH and DT_RUNPATH are offsets
    // into its strings.
    unsafe {
        let mut entry = (*map).dynamic;
        if entry.is_null() {
            return (None, None);
        }
        while (*entry)[0] != 0 {
            let value = (*entry)[1] as usize;
            match (*entry)[0] {
                // The loader has added the program's address on most systems, but not on all.
                DT_STRTAB if value < (*map).address => strings = value + (*map).address,
                DT_STRTAB => strings = value,
                DT_RPATH => rpath = Some(value),
                DT_RUNPATH => runpath = Some(value),
                _ => {}
            }
            entry = entry.add(1);
        }
        let text = |offset: usize| {
            let start = (strings as *const c_char).wrapping_add(offset);
            OsStr::from_bytes(CStr::from_ptr(start).to_bytes()).to_owned()
        };
        if strings == 0 {
            return (None, None);
        }
        (rpath.map(text), runpath.map(text))
    }
}

/// Returns `true` if the program has more privileges than its user, by setuid or by capabilities of its file. Then the
/// loader ignores LD_LIBRARY_PATH and the like, and removes them from the environment.
pub fn is_privileged() -> bool {
    // SAFETY: getauxval has no conditions.
    unsafe { getauxval(AT_SECURE) != 0 }
}

/// Returns a variable's value when the loader ran, without later changes.
pub fn first_environment(name: &str) -> Option<OsString> {
    if is_privileged() {
        return std::env::var_os(name);
    }
    given_environment(name)
}

/// Returns a variable's value at the start of the process, whether the loader used it or not.
pub fn given_environment(name: &str) -> Option<OsString> {
    let file = Path::new("/proc/self/environ");
    let Ok(all) = path_cache::call("read", file, |file| std::fs::read(file)) else {
        return std::env::var_os(name);
    };
    let mut lines = all.split(|byte| *byte == 0);
    let value = lines.find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    value.map(|value| OsString::from_vec(value.to_vec()))
}

/// Sleeps for this time, whatever the program's clock shows. Returns `false` if a signal or a system call filter prevents
/// that: `std::thread::sleep` panics then.
pub fn pause(time: Duration) -> bool {
    // SAFETY: there are no entries.
    unsafe { poll(std::ptr::null_mut(), 0, time.as_millis() as c_int) == 0 }
}

/// Returns the number of bytes that this process may write to a file. A larger write raises SIGXFSZ.
pub fn most_in_a_file() -> u64 {
    limit(RLIMIT_FSIZE)
}

/// Returns `true` if this process can open as many files again as it had open when it opened this one.
pub fn can_stay_open(file: &File) -> bool {
    // The kernel uses the lowest number that is free. A child replaces the standard streams.
    let numbers = 3..limit(RLIMIT_NOFILE).min(1024) / 2;
    numbers.contains(&(file.as_raw_fd() as u64))
}

fn limit(resource: c_int) -> u64 {
    let mut limit = [u64::MAX; 2];
    // SAFETY: getrlimit writes two numbers.
    unsafe { getrlimit(resource, &mut limit) };
    limit[0]
}

/// Returns `true` if the permissions of a file allow this process to read and write it. Landlock and AppArmor only refuse
/// to open a file.
pub fn has_permission(file: &Path) -> bool {
    let file = std::ffi::CString::new(file.as_os_str().as_encoded_bytes()).unwrap_or_default();
    // SAFETY: the path ends in NUL, and 6 is R_OK | W_OK.
    unsafe { access(file.as_ptr(), 6) == 0 }
}

/// Creates a file in memory, and closes it. Older versions of glibc have no function for this call.
pub fn create_memory_file() -> std::io::Result<()> {
    let number = if cfg!(target_arch = "aarch64") {
        279
    } else {
        319
    };
    // SAFETY: the name ends in NUL, and 1 is MFD_CLOEXEC.
    match unsafe { syscall(number, c"cuda".as_ptr(), 1 as c_ulong) } {
        // SAFETY: nothing else owns the new file.
        file @ 0.. => drop(unsafe { OwnedFd::from_raw_fd(file as c_int) }),
        _ => return Err(std::io::Error::last_os_error()),
    }
    Ok(())
}

/// Creates a path from bytes of `OsStr::as_encoded_bytes`.
pub fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}
