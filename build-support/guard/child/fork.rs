//! A child process on Linux, by `fork` alone: no second run of `main`, no interpreter, no loader in its place.

use crate::runtime::child::Sink;
use crate::runtime::child::exit_status::{ChildExit, ExitStatus};
use crate::runtime::child::process_lock::pause;
use crate::runtime::child::task::Task;
use crate::runtime::system::platform;
use std::ffi::{c_int, c_short, c_ulong, c_void};
use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Whether the child begins as a copy of this process, CUDA and all.
pub const IS_COPY: bool = true;

const O_CLOEXEC: c_int = 0o2_000_000;
const F_DUPFD_CLOEXEC: c_int = 1030;
const POLLIN: c_short = 1;
const PR_SET_PDEATHSIG: c_int = 1;
const RLIMIT_CORE: c_int = 4;
const SIGKILL: c_int = 9;
const WNOHANG: c_int = 1;
const ECHILD: c_int = 10;
/// Signals by which a library takes the process down: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS.
const DEADLY: [c_int; 7] = [4, 5, 6, 7, 8, 11, 31];
/// How many milliseconds a child may take to its first word before another one is made; the last one may take all
/// the time that is left.
const FIRST_WORD: [u64; 15] = [
    100, 100, 100, 100, 100, 100, 100, 100, 200, 400, 800, 1600, 3200, 6400, 12800,
];
/// How long a child that was killed, or that has told all when its time is over, is waited for.
const LEAST_WAIT: Duration = Duration::from_secs(2);
/// What is kept of a child's answer, and of what it printed.
const ANSWER_LIMIT: usize = 1 << 20;
const SAID_LIMIT: usize = 4096;

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

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: c_short,
    revents: c_short,
}

/// Where the handler of a dying child writes.
static ANSWER: AtomicI32 = AtomicI32::new(-1);

extern "C" fn dying(number: c_int) {
    let digit = |value: c_int| b'0' + (value % 10) as u8;
    let line = [
        b"\nsignal ".as_slice(),
        &[digit(number / 10), digit(number), b'\n'],
    ];
    for part in line {
        // SAFETY: write is safe in a signal handler.
        unsafe {
            write(
                ANSWER.load(Ordering::Relaxed),
                part.as_ptr().cast(),
                part.len(),
            )
        };
    }
    // SAFETY: both are safe in a signal handler; with the default action back in force the process ends as it
    // would have done.
    unsafe {
        signal(number, 0);
        raise(number);
    }
}

/// Does the work in a child made by `fork`, which ends with its parent and leaves no core. The error says why
/// there is no child.
///
/// A thread that is within the loader or an allocator while a child is made holds a lock which nobody gives back in
/// the child: `dl_iterate_phdr`'s (glibc resets others), or the one of an allocator that knows nothing of `fork`. So
/// the first thing in the work is to go through such locks and to tell a word, and a child that does not come to
/// that is no child: another one is made, at another moment.
pub fn in_child(
    deadline: Duration,
    _task: &Task,
    _token: &str,
    work: &dyn Fn(Sink<'_>),
) -> Result<ChildExit, String> {
    let until = Instant::now() + deadline;
    for milliseconds in FIRST_WORD {
        let patience = Duration::from_millis(milliseconds);
        if Instant::now() + patience >= until {
            break;
        }
        let exit = one_child(Some(patience), until, work)?;
        if !exit.answer.is_empty() {
            return Ok(exit);
        }
    }
    one_child(None, until, work)
}

fn one_child(
    patience: Option<Duration>,
    until: Instant,
    work: &dyn Fn(Sink<'_>),
) -> Result<ChildExit, String> {
    let [answer, sink] = pipe()?;
    let [said, say] = match pipe() {
        Ok(ends) => ends,
        Err(words) => {
            close_all(&[answer, sink]);
            return Err(words);
        }
    };
    // SAFETY: getpid has no conditions.
    let parent = unsafe { getpid() };
    // Lets a thread come to its end that is opening a library now: the child would have half of it.
    platform::pass_locks();
    // SAFETY: the child below returns to nothing of its parent's: it ends in _exit.
    let pid = unsafe { fork() };
    if pid == 0 {
        become_child(parent, sink, say);
        // A panic must not unwind into the parent's frames.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            work(&|text| write_all(sink, format!("{text}\n").as_bytes()));
        }));
        // SAFETY: ends this process at once: exit handlers are the parent's.
        unsafe { _exit(0) };
    }
    let failed = Error::last_os_error();
    // A large program takes its time to be doubled, which is not the child's.
    let first_word = patience.map_or(until, |patience| Instant::now() + patience);
    close_all(&[sink, say]);
    if pid < 0 {
        close_all(&[answer, said]);
        return Err(format!("fork: {failed}"));
    }
    let mut gone = None;
    let told = read_until_end(answer, said, [first_word, until], &mut || {
        gone = gone.or_else(|| reaped(pid).ok());
        gone.is_some()
    });
    gone = gone.or_else(|| reaped(pid).ok());
    let whole = matches!(told, Ok((true, ..)));
    if !whole && gone.is_none() {
        // It has not ended, so the number is still its own.
        // SAFETY: kill has no conditions.
        unsafe { kill(pid, SIGKILL) };
    }
    close_all(&[answer, said]);
    // Until it is gone it holds the GPU, whose driver takes its time to clean up behind a process.
    let least = Instant::now() + LEAST_WAIT;
    let limit = if whole { until.max(least) } else { least };
    let status = gone.unwrap_or_else(|| wait_status(pid, limit));
    let (_, answer_bytes, said_bytes) = told?;
    let answer = String::from_utf8_lossy(&answer_bytes).into_owned();
    let (answer, told) = match answer.rsplit_once("\nsignal ") {
        Some((answer, number)) => (answer.to_string(), number.trim().parse().ok()),
        None => (answer, None),
    };
    let end = match (whole, told, status) {
        (false, _, _) => ExitStatus::Late,
        (true, Some(number), _) => ExitStatus::Signal(number),
        (true, None, Some(status)) if status & 0x7f != 0 => ExitStatus::Signal(status & 0x7f),
        _ => ExitStatus::Itself,
    };
    let said = String::from_utf8_lossy(&said_bytes).into_owned();
    Ok(ChildExit { end, answer, said })
}

fn become_child(parent: c_int, sink: c_int, say: c_int) {
    ANSWER.store(sink, Ordering::Relaxed);
    let handler: extern "C" fn(c_int) = dying;
    // SAFETY: plain system calls on this process alone. Handlers of the program's own are replaced, so that a
    // crash in here does not start its crash reporter.
    unsafe {
        prctl(PR_SET_PDEATHSIG, SIGKILL as c_ulong);
        // The parent may have ended before that; 0 is a parent outside the child's own process namespace, and less is
        // the error of a system that does not tell.
        let now = getppid();
        if parent > 0 && now > 0 && now != parent {
            _exit(0);
        }
        setrlimit(RLIMIT_CORE, &[0, 0]);
        for number in DEADLY {
            signal(number, handler as usize);
        }
        dup2(say, 1);
        dup2(say, 2);
    }
}

/// A pipe whose ends are not the standard streams, even where those are closed.
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

/// Reads both pipes until the first one ends (true) or the time is over (false), which is so earlier while nothing
/// was answered. Somebody else's child may hold the pipes too, so that what is `gone` counts as well, when there is
/// nothing left to read. The error says why it cannot be waited for them.
fn read_until_end(
    answer: c_int,
    said: c_int,
    [first_word, until]: [Instant; 2],
    gone: &mut dyn FnMut() -> bool,
) -> Result<(bool, Vec<u8>, Vec<u8>), String> {
    let (mut answer_bytes, mut said_bytes) = (Vec::new(), Vec::new());
    let (mut answer_open, mut said_open) = (true, true);
    let mut buffer = vec![0_u8; 1 << 16];
    while answer_open {
        let end = if answer_bytes.is_empty() {
            first_word
        } else {
            until
        };
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok((false, answer_bytes, said_bytes));
        }
        let wait = 1 + left.as_millis().min(100) as c_int;
        let mut fds = [
            PollFd {
                fd: answer,
                events: POLLIN,
                revents: 0,
            },
            PollFd {
                fd: if said_open { said } else { -1 },
                events: POLLIN,
                revents: 0,
            },
        ];
        // SAFETY: two valid entries.
        match unsafe { poll(fds.as_mut_ptr(), 2, wait) } {
            0 if gone() => break,
            1.. => {}
            0 => continue,
            _ => match Error::last_os_error() {
                error if is_passing(&error) => continue,
                error => return Err(format!("poll: {error}")),
            },
        }
        // The end of the answer comes last, so that what was printed before it is not lost.
        if fds[0].revents & POLLIN == 0 && fds[1].revents != 0 {
            said_open = read_once(said, &mut buffer, &mut said_bytes, SAID_LIMIT);
        } else if fds[0].revents != 0 {
            answer_open = read_once(answer, &mut buffer, &mut answer_bytes, ANSWER_LIMIT);
        }
    }
    Ok((true, answer_bytes, said_bytes))
}

/// Whether the same call may go well the next time.
fn is_passing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock)
}

/// Reads once; what is over the limit is dropped. False at the end.
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

/// The wait status, if it can be had: with SIGCHLD ignored, or a handler that waits for all, it cannot. A child
/// that hangs in the kernel is waited for no longer than this.
fn wait_status(pid: c_int, until: Instant) -> Option<c_int> {
    loop {
        match reaped(pid) {
            Ok(status) => return status,
            Err(refused) if refused || Instant::now() >= until => return None,
            Err(_) => pause(Duration::from_millis(1)),
        }
    }
}

/// The status of a child that has ended, if it can be had; else whether the system refuses to tell about it.
fn reaped(pid: c_int) -> Result<Option<c_int>, bool> {
    let mut status = 0;
    // SAFETY: waits for the child made here.
    let ended = unsafe { waitpid(pid, &mut status, WNOHANG) };
    match (ended, Error::last_os_error()) {
        (0, _) => Err(false),
        (1.., _) => Ok(Some(status)),
        (_, error) if error.raw_os_error() == Some(ECHILD) => Ok(None),
        (_, error) => Err(!is_passing(&error)),
    }
}

/// What read or write counted; none on an error.
fn byte_count(count: isize) -> Option<usize> {
    std::convert::TryFrom::try_from(count).ok()
}
