//! A child process on Linux, created by `fork` without `exec`: `main`, interpreter and loader do not run a second time.
//! A program with much memory is started again instead: see `exec.rs`.

pub mod entry;
pub mod exec;
pub mod signals;

use crate::runtime::child::exit_status::{ANSWER_LIMIT, LEAST_WAIT, OUTPUT_LIMIT};
use crate::runtime::child::{
    ChildExit, ChildReport, ExitStatus, Sink, Task, TimeLeft, with_large_stack, work,
};
use crate::runtime::system::platform::{self, PollFd, is_temporary, poll};
use std::ffi::{c_int, c_short, c_ulong};
use std::fmt::Display;
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd, FromRawFd};
use std::os::unix::process::parent_id;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// `true` if the child begins as a copy of this process, including CUDA.
pub const IS_COPY: bool = true;

const O_CLOEXEC: c_int = 0o2_000_000;
const POLLIN: c_short = 1;
const PR_SET_PDEATHSIG: c_int = 1;
const RLIMIT_CORE: c_int = 4;
const SIGKILL: c_int = 9;
const WNOHANG: c_int = 1;
const ECHILD: c_int = 10;
/// The time in milliseconds that each child may take to write its first line before another child is created. The last
/// child has all of the remaining time.
const FIRST_LINE: [u64; 15] = [
    100, 100, 100, 100, 100, 100, 100, 100, 200, 400, 800, 1600, 3200, 6400, 12800,
];
/// The time after which [`read_until_end`] checks whether the child is reaped.
const LONGEST_POLL: Duration = Duration::from_millis(100);
unsafe extern "C" {
    fn fork() -> c_int;
    fn _exit(code: c_int) -> !;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn setrlimit(resource: c_int, limit: *const [u64; 2]) -> c_int;
    fn pipe2(ends: *mut c_int, flags: c_int) -> c_int;
    fn dup2(from: c_int, to: c_int) -> c_int;
}

/// Starts a child, and writes its answer and its output to these pipes. Returns its process id.
type Start<'a> = &'a dyn Fn(&File, &File) -> Result<c_int, String>;

/// Does the work in a child, which ends with its parent and writes no core dump.
///
/// A second instance of this program may differ from a copy of this process. If it finds a fault, a copy decides.
///
/// If another thread is in the loader or an allocator during `fork`, the child inherits a locked lock: that of
/// `dl_iterate_phdr` (glibc resets the others), or that of an allocator without fork handlers. The child therefore
/// takes these locks first, and then writes a line. If the line does not arrive, another child is created.
///
/// # Errors
/// The reason why there is no child.
pub fn in_child(
    deadline: Duration,
    task: &Task,
    token: &str,
    work: &(dyn Fn(Sink<'_>) + Sync),
) -> Result<ChildExit, String> {
    let mut time = TimeLeft::new(deadline);
    if exec::is_suitable(task) {
        let start: Start<'_> = &|sink, output| exec::start(task, token, sink, output);
        match run_child(LEAST_WAIT.min(deadline / 2), &mut time, start) {
            Ok(exit) if time.left.is_zero() => return Ok(exit),
            Ok(exit) if ChildReport::parse(&exit.answer, token).is_sound() => return Ok(exit),
            _ => entry::HAS_RUN.store(false, Ordering::Relaxed),
        }
    }
    let start: Start<'_> = &|sink, output| fork_child(work, sink, output);
    for milliseconds in FIRST_LINE {
        let limit = Duration::from_millis(milliseconds);
        if limit >= time.left {
            break;
        }
        let exit = run_child(limit, &mut time, start)?;
        if !exit.answer.is_empty() {
            return Ok(exit);
        }
    }
    run_child(deadline, &mut time, start)
}

fn fork_child(
    work: &(dyn Fn(Sink<'_>) + Sync),
    sink: &File,
    output: &File,
) -> Result<c_int, String> {
    let parent = std::process::id() as c_int;
    // Waits for threads that are loading a library, which the child would inherit half-loaded.
    platform::pass_locks();
    // SAFETY: the child does not return into its parent's frames: it ends in `exit`.
    let pid = unsafe { fork() };
    if pid == 0 {
        become_child(parent, sink, output.as_raw_fd());
        with_large_stack(&|| {
            // A panic must not unwind into the parent's frames.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                work(&|text| work::send(sink, text));
            }));
            // The end of this thread would make system calls that a sandbox may forbid.
            exit();
        });
        exit();
    }
    if pid < 0 {
        return Err(format!("fork: {}", Error::last_os_error()));
    }
    Ok(pid)
}

fn run_child(
    first_line: Duration,
    time: &mut TimeLeft,
    start: Start<'_>,
) -> Result<ChildExit, String> {
    let failed = |error: Error| format!("pipe: {error}");
    let [answer, sink] = pipe().map_err(failed)?;
    let [output, output_sink] = pipe().map_err(failed)?;
    let pid = start(&sink, &output_sink)?;
    // Measured from here, since `fork` takes long in a large program.
    time.pass(Duration::ZERO);
    let after_first_line = time.left.saturating_sub(first_line);
    drop((sink, output_sink));
    let mut reaped = None;
    let read = read_until_end(&answer, &output, after_first_line, time, &mut || {
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
    drop((answer, output));
    // The child holds the GPU until it is gone, and the driver takes long to clean up after a process.
    let limit = if has_ended { time.left } else { LEAST_WAIT };
    let limit = TimeLeft::new(limit.max(LEAST_WAIT));
    let status = reaped.unwrap_or_else(|| wait_status(pid, limit));
    let (_, answer_bytes, output_bytes) = read?;
    let answer = String::from_utf8_lossy(&answer_bytes).into_owned();
    let (answer, reported_end) = signals::split_end(&answer);
    let end = match (has_ended, reported_end, status.map(|status| status & 0x7f)) {
        (false, _, _) => ExitStatus::Late,
        (true, Some(end), _) => end,
        (true, None, Some(signals::SIGSYS)) => ExitStatus::Sandbox(None),
        (true, None, Some(number)) if number != 0 => ExitStatus::Signal(number),
        _ => ExitStatus::Itself,
    };
    Ok(ChildExit {
        end,
        answer: answer.to_string(),
        output: String::from_utf8_lossy(&output_bytes).into_owned(),
    })
}

/// Ends this process at once: exit handlers are the parent's.
pub fn exit() -> ! {
    // SAFETY: it has no conditions.
    unsafe { _exit(0) }
}

/// Makes this second instance of the program a child. Its standard input is the answer pipe.
pub fn enter_child(parent: usize) -> Option<File> {
    let sink = File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
    become_child(parent as c_int, &sink, 1);
    // SAFETY: a plain system call. Programs that the driver starts must not keep the answer pipe open.
    unsafe { dup2(1, 0) };
    Some(sink)
}

fn become_child(parent: c_int, sink: &File, output_sink: c_int) {
    signals::report_to(sink.as_raw_fd());
    // SAFETY: plain system calls on this process.
    unsafe {
        prctl(PR_SET_PDEATHSIG, SIGKILL as c_ulong);
        // The parent may have ended before that call. 0 is a parent outside the child's PID namespace, and a negative
        // number is an error.
        let now = parent_id() as c_int;
        if parent > 0 && now > 0 && now != parent {
            exit();
        }
        setrlimit(RLIMIT_CORE, &[0, 0]);
        dup2(output_sink, 1);
        dup2(output_sink, 2);
    }
    end_first("self");
}

/// If memory runs out, the kernel ends this process first, not the program.
fn end_first(process: impl Display) {
    let file = format!("/proc/{process}/oom_score_adj");
    let _ = platform::write_in_place(Path::new(&file), "1000");
}

/// Creates a pipe. Its ends are not the standard streams, even if those are closed: [`File::try_clone`] avoids them.
fn pipe() -> Result<[File; 2], Error> {
    let mut ends = [-1; 2];
    // SAFETY: pipe2 writes two numbers.
    if unsafe { pipe2(ends.as_mut_ptr(), O_CLOEXEC) } != 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: nothing else owns them.
    let [read, write] = ends.map(|end| unsafe { File::from_raw_fd(end) });
    Ok([read.try_clone()?, write.try_clone()?])
}

/// Reads both pipes until the answer ends (`true`) or no time is left (`false`). The first line has to arrive while more
/// than `after_first_line` is left. What the child has answered by then is still read.
///
/// Another child of the program may keep the pipes open. The answer therefore also counts as ended if the child is
/// reaped and nothing is left to read.
fn read_until_end(
    answer: &File,
    output: &File,
    mut after_first_line: Duration,
    time: &mut TimeLeft,
    is_reaped: &mut dyn FnMut() -> bool,
) -> Result<(bool, Vec<u8>, Vec<u8>), String> {
    let (mut answer_bytes, mut output_bytes) = (Vec::new(), Vec::new());
    let (mut answer_open, mut output_open) = (true, true);
    let mut buffer = vec![0_u8; 1 << 16];
    while answer_open {
        let wait = time.left.saturating_sub(after_first_line);
        let wait = wait.min(LONGEST_POLL);
        let listens = output_open && !wait.is_zero();
        let output_fd = if listens { output.as_raw_fd() } else { -1 };
        let mut fds = [answer.as_raw_fd(), output_fd].map(|fd| PollFd {
            fd,
            events: POLLIN,
            revents: 0,
        });
        let milliseconds = wait.as_micros().div_ceil(1000) as c_int;
        // SAFETY: two valid entries.
        let ready = unsafe { poll(fds.as_mut_ptr(), 2, milliseconds) };
        let error = Error::last_os_error();
        time.pass(if ready == 0 { wait } else { Duration::ZERO });
        match ready {
            1.. => {}
            0 if is_reaped() => break,
            0 if wait.is_zero() => return Ok((false, answer_bytes, output_bytes)),
            0 => continue,
            _ if is_temporary(error.kind()) => continue,
            _ => return Err(format!("poll: {error}")),
        }
        // The end of the answer comes last, so that no output before it is lost.
        if fds[0].revents & POLLIN == 0 && fds[1].revents != 0 {
            output_open = read_once(output, &mut buffer, &mut output_bytes, OUTPUT_LIMIT);
        } else if fds[0].revents != 0 {
            answer_open = read_once(answer, &mut buffer, &mut answer_bytes, ANSWER_LIMIT);
            after_first_line = Duration::ZERO;
        }
    }
    Ok((true, answer_bytes, output_bytes))
}

/// Reads once, and discards everything over the limit. Returns `false` at the end.
fn read_once(mut pipe: &File, buffer: &mut [u8], into: &mut Vec<u8>, limit: usize) -> bool {
    match pipe.read(buffer) {
        Ok(0) => false,
        Ok(count) => {
            let room = limit.saturating_sub(into.len());
            into.extend(buffer.iter().take(count.min(room)));
            true
        }
        Err(error) => error.kind() == ErrorKind::Interrupted,
    }
}

/// Returns the wait status, if it is available: it is not if SIGCHLD is ignored, or if a handler waits for all
/// children. `time` limits the wait for a child that hangs in the kernel.
fn wait_status(pid: c_int, mut time: TimeLeft) -> Option<c_int> {
    loop {
        match reap(pid) {
            Ok(status) => return status,
            Err(refused) if refused || !time.pause() => return None,
            Err(_) => {}
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
        (_, error) => Err(!is_temporary(error.kind())),
    }
}
