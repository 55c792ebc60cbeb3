//! The end of programs that this process started.

#[cfg(target_os = "linux")]
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Returns the children of a process that the process has not waited for.
#[cfg(target_os = "linux")]
fn children(process: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let Ok(mut threads) = std::fs::read_dir(format!("/proc/{process}/task")) else {
        return found;
    };
    while let Some(Ok(thread)) = threads.next() {
        let listed = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for id in listed.split_whitespace() {
            if let Ok(id @ 1..) = id.parse() {
                found.push(id);
            }
        }
    }
    found
}

/// Kills a process and its descendants. Each is killed before its children, so that it starts no others.
#[cfg(target_os = "linux")]
pub fn kill_tree(process: i32) {
    unsafe extern "C" {
        fn kill(process: i32, signal: i32) -> i32;
    }
    const SIGKILL: i32 = 9;
    let started = children(process);
    // SAFETY: `kill` takes two numbers.
    unsafe { kill(process, SIGKILL) };
    for child in started {
        kill_tree(child);
    }
}

/// Makes the kernel kill the program if this process, or the thread that waits for the program, is killed.
#[cfg(target_os = "linux")]
pub fn die_with_this_process(command: &mut Command) {
    unsafe extern "C" {
        fn prctl(option: i32, ...) -> i32;
    }
    const PR_SET_PDEATHSIG: i32 = 1;
    const SIGKILL: std::ffi::c_ulong = 9;
    // SAFETY: only one system call with two numbers runs between fork and exec.
    unsafe {
        command.pre_exec(|| {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            Ok(())
        })
    };
}

/// The disposition of SIGPIPE when this program began: systemd ignores the signal for its services. Rust's standard
/// library ignores it before `main`, and resets it when it starts a program.
#[cfg(all(target_os = "linux", feature = "cli"))]
pub mod sigpipe {
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const SIGPIPE: i32 = 13;
    const SIG_IGN: usize = 1;
    static INHERITED: AtomicUsize = AtomicUsize::new(0);
    /// The C library calls this function before Rust's standard library. Miri cannot call `signal`.
    #[used]
    #[cfg_attr(not(miri), unsafe(link_section = ".init_array"))]
    static BEFORE_MAIN: extern "C" fn() = read;

    unsafe extern "C" {
        fn signal(number: i32, handler: usize) -> usize;
    }

    extern "C" fn read() {
        // SAFETY: no other thread exists yet.
        INHERITED.store(unsafe { signal(SIGPIPE, SIG_IGN) }, Ordering::Relaxed);
    }

    /// Passes the disposition on to a program.
    pub fn keep(command: &mut Command) {
        let restore = || {
            // SAFETY: only this system call runs between fork and exec.
            unsafe { signal(SIGPIPE, INHERITED.load(Ordering::Relaxed)) };
            Ok(())
        };
        // SAFETY: as above.
        unsafe { command.pre_exec(restore) };
    }
}

/// Does nothing, because other systems do not support this. The program continues there.
#[cfg(not(target_os = "linux"))]
pub fn die_with_this_process(_: &mut Command) {}
