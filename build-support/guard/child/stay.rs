//! A process that keeps a GPU open between the child and the program.

use crate::runtime::child::process_lock::pause;
use crate::runtime::system::proc;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn fork() -> c_int;
    fn _exit(code: c_int) -> !;
    fn getppid() -> c_int;
    fn close(fd: c_int) -> c_int;
}

/// The longest time to keep a GPU open for a program that has not started CUDA.
const STAY: Duration = Duration::from_secs(30);

/// Leaves a process behind that keeps the GPU's devices open until the program has opened them too or has ended: the
/// driver shuts a GPU down when no process has it open, and takes seconds to start it again.
pub fn keep_gpu_open() {
    // SAFETY: getppid has no conditions.
    let program = unsafe { getppid() };
    // SAFETY: the new process does not call CUDA, and ends in _exit.
    if unsafe { fork() } != 0 {
        return;
    }
    // `alarm` would not work, since the program may have blocked its signal.
    let clock = Instant::now();
    // Readers of this program's output would wait until this process closes the other end.
    let open = open_files("self");
    for (fd, _) in open.iter().filter(|(_, target)| !is_gpu(target)) {
        // SAFETY: nothing here uses it anymore.
        unsafe { close(*fd) };
    }
    let has_gpu = |files: Vec<(c_int, PathBuf)>| files.iter().any(|(_, target)| is_gpu(target));
    // `open` is empty without /proc.
    while !open.is_empty()
        && clock.elapsed() < STAY
        && proc::is_running(program.unsigned_abs())
        && !has_gpu(open_files(&program.to_string()))
    {
        pause(Duration::from_millis(100));
    }
    // SAFETY: ends this process at once.
    unsafe { _exit(0) };
}

fn open_files(process: &str) -> Vec<(c_int, PathBuf)> {
    let mut files = Vec::new();
    let Ok(links) = std::fs::read_dir(format!("/proc/{process}/fd")) else {
        return files;
    };
    for link in links.flatten() {
        let number = link.file_name().to_str().and_then(|name| name.parse().ok());
        if let (Some(number), Ok(target)) = (number, std::fs::read_link(link.path())) {
            files.push((number, target));
        }
    }
    files
}

/// Returns `true` for the device of a GPU, such as `/dev/nvidia0`.
pub fn is_gpu(path: &Path) -> bool {
    let path = path.to_str().unwrap_or_default();
    let name = path.strip_prefix("/dev/nvidia");
    name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_digit()))
}
