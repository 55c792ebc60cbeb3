//! A child process on Linux, created by `fork` without `exec`: `main`, interpreter and loader do not run a second time.

use crate::runtime::child::Sink;
use crate::runtime::child::exit_status::{ChildExit, ExitStatus};
use crate::runtime::child::process_lock::pause;
use crate::runtime::child::task::Task;
use crate::runtime::system::platform::{self, PollFd};
use std::ffi::{c_int, c_short, c_ulong, c_void};
use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// `true` if the child begins as a copy of this process, including CUDA.
pub const IS_COPY: bool = true;

const O_CLOEXEC: c_int = 0o2_000_000;
const F_DUPFD_CLOEXEC: c_int = 1030;
const POLLIN: c_short = 1;
const PR_SET_PDEATHSIG: c_int = 1;
const RLIMIT_CORE: c_int = 4;
const SIGKILL: c_int = 9;
const WNOHANG: c_int = 1;
const ECHILD: c_int = 10;
/// Signals of crashes: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS.
const DEADLY: [c_int; 7] = [4, 5, 6, 7, 8, 11, 31];
/// The time in milliseconds that each child may take to write its first line before another child is created. The last
/// child has all of the remaining time.
const FIRST_LINE: [u64; 15] = [
    100, 100, 100, 100, 100, 100, 100, 100, 200, 400, 800, 1600, 3200, 6400, 12800,
];
/// The time to wait for the end of a child that was killed or that has finished its report.
const LEAST_WAIT: Duration = Duration::from_secs(2);
/// The bytes to keep of a child's answer and output.
const ANSWER_LIMIT: usize = 1 << 20;
const OUTPUT_LIMIT: usize = 4096;

unsafe extern "C" {
    fn fork() -> c_int;
    fn _exit(code: c_int) -> !;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn raise(signal: c_int) -> c_int;
    fn signal(signal: c_int, handler: usize) -> usize;
    fn getpid() -> c_int;
    fn getppid() -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn setrlimit(resource: c_int, limit: *const [u64; 2]) -> c_int;
    fn pipe2(ends: *mut c_int, flags: c_int) -> c_int;
    fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    fn dup2(from: c_int, to: c_int) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn read(fd: c_int, into: *mut c_void, size: usize) -> isize;
    fn write(fd: c_int, from: *const c_void, size: usize) -> isize;
    fn poll(fds: *mut PollFd, count: c_ulong, milliseconds: c_int) -> c_int;
}

/// The answer pipe of a child, for its signal handler.
static ANSWER: AtomicI32 = AtomicI32::new(-1);

extern "C" fn report_signal(number: c_int) {
    let digit = |value: c_int| b'0' + (value % 10) as u8;
    let line = [
        b"\nsignal ".as_slice(),
        &[digit(number / 10), digit(number), b'\n'],
    ];
    for piece in line {
        // SAFETY: write is safe in a signal handler.
        unsafe {
            write(
                ANSWER.load(Ordering::Relaxed),
                piece.as_ptr().cast(),
                piece.len(),
            )
        };
    }
    // SAFETY: both are safe in a signal handler. The default action ends the process as without this handler.
    unsafe {
        signal(number, 0);
        raise(number);
    }
}

/// Does the work in a forked child, which ends with its parent and writes no core dump.
///
/// If another thread is in the loader or an allocator during `fork`, the child inherits a locked lock: that of
/// `dl_iterate_phdr` (glibc resets the others), or that of an allocator without fork handlers. The child therefore
/// takes these locks first, and then writes a line. If the line does not arrive, another child is created.
///
/// # Errors
/// The reason why there is no child.
pub fn in_child(
    deadline: Duration,
    _task: &Task,
    _token: &str,
    work: &dyn Fn(Sink<'_>),
) -> Result<ChildExit, String> {
    let until = Instant::now() + deadline;
    for milliseconds in FIRST_LINE {
        let limit = Duration::from_millis(milliseconds);
        if Instant::now() + limit >= until {
            break;
        }
        let exit = run_child(Some(limit), until, work)?;
        if !exit.answer.is_empty() {
            return Ok(exit);
        }
    }
    run_child(None, until, work)
}

fn run_child(
    first_line: Option<Duration>,
    until: Instant,
    work: &dyn Fn(Sink<'_>),
) -> Result<ChildExit, String> {
    let [answer, sink] = pipe()?;
    let [output, output_sink] = match pipe() {
        Ok(ends) => ends,
        Err(reason) => {
            close_all(&[answer, sink]);
            return Err(reason);
        }
    };
    // SAFETY: getpid has no conditions.
    let parent = unsafe { getpid() };
    // Waits for threads that are loading a library, which the child would inherit half-loaded.
    platform::pass_locks();
    // SAFETY: the child does not return into its parent's frames: it ends in _exit.
    let pid = unsafe { fork() };
    if pid == 0 {
        become_child(parent, sink, output_sink);
        // A panic must not unwind into the parent's frames.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            work(&|text| write_all(sink, format!("{text}\n").as_bytes()));
        }));
        // SAFETY: ends this process at once: exit handlers are the parent's.
        unsafe { _exit(0) };
    }
    let error = Error::last_os_error();
    // Measured from here, since `fork` takes long in a large program.
    let first_line = first_line.map_or(until, |limit| Instant::now() + limit);
    close_all(&[sink, output_sink]);
    if pid < 0 {
        close_all(&[answer, output]);
        return Err(format!("fork: {error}"));
    }
    let mut reaped = None;
    let read = read_until_end(answer, output, [first_line, until], &mut || {
        reaped = reaped.or_else(|| reap(pid).ok());
        reaped.is_some()
    });
    reaped = reaped.or_else(|| reap(pid).ok());
    let has_ended = matches!(read, Ok((true, ..)));
    if !has_ended && reaped.is_none() {
        // The child has not been reaped, so the process id still belongs to it.
        // SAFETY: kill has no conditions.
        unsafe { kill(pid, SIGKILL) };
    }
    close_all(&[answer, output]);
    // The child holds the GPU until it is gone, and the driver takes long to clean up after a process.
    let least = Instant::now() + LEAST_WAIT;
    let limit = if has_ended { until.max(least) } else { least };
    let status = reaped.unwrap_or_else(|| wait_status(pid, limit));
    let (_, answer_bytes, output_bytes) = read?;
    let answer = String::from_utf8_lossy(&answer_bytes).into_owned();
    let (answer, reported_signal) = match answer.rsplit_once("\nsignal ") {
        Some((answer, number)) => (answer.to_string(), number.trim().parse().ok()),
        None => (answer, None),
    };
    let end = match (has_ended, reported_signal, status) {
        (false, _, _) => ExitStatus::Late,
        (true, Some(number), _) => ExitStatus::Signal(number),
        (true, None, Some(status)) if status & 0x7f != 0 => ExitStatus::Signal(status & 0x7f),
        _ => ExitStatus::Itself,
    };
    Ok(ChildExit {
        end,
        answer,
        output: String::from_utf8_lossy(&output_bytes).into_owned(),
    })
}

fn become_child(parent: c_int, sink: c_int, output_sink: c_int) {
    ANSWER.store(sink, Ordering::Relaxed);
    let handler: extern "C" fn(c_int) = report_signal;
    // SAFETY: plain system calls on this process. The program's own handlers are replaced, so that a crash does not
    // start its crash reporter.
    unsafe {
        prctl(PR_SET_PDEATHSIG, SIGKILL as c_ulong);
        // The parent may have ended before that call. 0 is a parent outside the child's PID namespace, and a negative
        // number is an error.
        let now = getppid();
        if parent > 0 && now > 0 && now != parent {
            _exit(0);
        }
        setrlimit(RLIMIT_CORE, &[0, 0]);
        for number in DEADLY {
            signal(number, handler as usize);
        }
        dup2(output_sink, 1);
        dup2(output_sink, 2);
    }
}

/// Creates a pipe. Its ends are not the standard streams, even if those are closed.
fn pipe() -> Result<[c_int; 2], String> {
    let mut ends = [-1; 2];
    // SAFETY: pipe2 writes two numbers; fcntl with F_DUPFD_CLOEXEC takes one.
    unsafe {
        if pipe2(ends.as_mut_ptr(), O_CLOEXEC) != 0 {
            return Err(format!("pipe: {}", Error::last_os_error()));
        }
        let moved = [
            fcntl(ends[0], F_DUPFD_CLOEXEC, 3),
            fcntl(ends[1], F_DUPFD_CLOEXEC, 3),
        ];
        let failed = Error::last_os_error();
        close_all(&ends);
        if moved.contains(&-1) {
            close_all(&moved);
            return Err(format!("pipe: {failed}"));
        }
        Ok(moved)
    }
}

fn close_all(fds: &[c_int]) {
    for fd in fds {
        // SAFETY: each is closed once, by its owner; -1 is refused.
        unsafe { close(*fd) };
    }
}

fn write_all(fd: c_int, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the bytes are valid for their length.
        let written = unsafe { write(fd, bytes.as_ptr().cast(), bytes.len()) };
        match byte_count(written) {
            Some(0) => return,
            Some(count) => bytes = bytes.get(count..).unwrap_or(&[]),
            None if Error::last_os_error().kind() == ErrorKind::Interrupted => {}
            None => return,
        }
    }
}

/// Reads both pipes until the answer ends (`true`) or the deadline passes (`false`). The deadline is `first_line` until
/// the first line arrives, then `until`.
///
/// Another child of the program may keep the pipes open. The answer therefore also counts as ended if the child is
/// reaped and nothing is left to read.
fn read_until_end(
    answer: c_int,
    output: c_int,
    [first_line, until]: [Instant; 2],
    is_reaped: &mut dyn FnMut() -> bool,
) -> Result<(bool, Vec<u8>, Vec<u8>), String> {
    let (mut answer_bytes, mut output_bytes) = (Vec::new(), Vec::new());
    let (mut answer_open, mut output_open) = (true, true);
    let mut buffer = vec![0_u8; 1 << 16];
    while answer_open {
        let end = if answer_bytes.is_empty() {
            first_line
        } else {
            until
        };
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok((false, answer_bytes, output_bytes));
        }
        let wait = 1 + left.as_millis().min(100) as c_int;
        let mut fds = [
            PollFd {
                fd: answer,
                events: POLLIN,
                revents: 0,
            },
            PollFd {
                fd: if output_open { output } else { -1 },
                events: POLLIN,
                revents: 0,
            },
        ];
        // SAFETY: two valid entries.
        match unsafe { poll(fds.as_mut_ptr(), 2, wait) } {
            0 if is_reaped() => break,
            1.. => {}
            0 => continue,
            _ => match Error::last_os_error() {
                error if is_temporary(&error) => continue,
                error => return Err(format!("poll: {error}")),
            },
        }
        // The end of the answer comes last, so that no output before it is lost.
        if fds[0].revents & POLLIN == 0 && fds[1].revents != 0 {
            output_open = read_once(output, &mut buffer, &mut output_bytes, OUTPUT_LIMIT);
        } else if fds[0].revents != 0 {
            answer_open = read_once(answer, &mut buffer, &mut answer_bytes, ANSWER_LIMIT);
        }
    }
    Ok((true, answer_bytes, output_bytes))
}

/// Returns `true` if repeating the call may succeed.
fn is_temporary(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock)
}

/// Reads once, and discards everything over the limit. Returns `false` at the end.
fn read_once(fd: c_int, buffer: &mut [u8], into: &mut Vec<u8>, limit: usize) -> bool {
    // SAFETY: the buffer is valid for its length.
    let count = unsafe { read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
    match byte_count(count) {
        Some(0) => false,
        Some(count) => {
            let room = limit.saturating_sub(into.len());
            into.extend(buffer.iter().take(count.min(room)));
            true
        }
        None => Error::last_os_error().kind() == ErrorKind::Interrupted,
    }
}

/// Returns the wait status, if it is available: it is not if SIGCHLD is ignored, or if a handler waits for all
/// children. `until` limits the wait for a child that hangs in the kernel.
fn wait_status(pid: c_int, until: Instant) -> Option<c_int> {
    loop {
        match reap(pid) {
            Ok(status) => return status,
            Err(refused) if refused || Instant::now() >= until => return None,
            Err(_) => pause(Duration::from_millis(1)),
        }
    }
}

/// Reaps a child that has ended, and returns its status if available.
///
/// # Errors
/// `false` if the child has not ended, `true` if the system refuses the call.
fn reap(pid: c_int) -> Result<Option<c_int>, bool> {
    let mut status = 0;
    // SAFETY: waits for the child made here.
    let ended = unsafe { waitpid(pid, &mut status, WNOHANG) };
    match (ended, Error::last_os_error()) {
        (0, _) => Err(false),
        (1.., _) => Ok(Some(status)),
        (_, error) if error.raw_os_error() == Some(ECHILD) => Ok(None),
        (_, error) => Err(!is_temporary(&error)),
    }
}

/// Returns the count of a read or write, or `None` for an error.
fn byte_count(count: isize) -> Option<usize> {
    std::convert::TryFrom::try_from(count).ok()
}
