//! Writing to pipes, sockets and terminals, which may wait for a reader or raise a signal.

use crate::runtime::system::platform::process::{PollFd, poll};
use std::ffi::{c_int, c_long, c_short, c_ulong, c_void};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

const O_NOCTTY: c_int = 0o400;
const O_NONBLOCK: c_int = 0o4_000;
const POLLOUT: c_short = 4;
/// POLLERR, POLLHUP, POLLNVAL: no reader, or no open file.
const CLOSED: c_short = 8 | 16 | 32;
const SIG_BLOCK: c_int = 0;
const SIG_SETMASK: c_int = 2;
/// The signals of a failed write: SIGPIPE and SIGXFSZ.
const OF_WRITE: c_ulong = 1 << 12 | 1 << 24;
/// The signal of a process in the background of a terminal. If the signal is blocked, the process may write.
const SIGTTOU: c_ulong = 1 << 21;
/// The bytes that a pipe or a socket takes without waiting if it is ready.
const PIPE_BUF: usize = 4096;

/// `sigset_t`.
type Signals = [c_ulong; 1024 / c_ulong::BITS as usize];

unsafe extern "C" {
    fn write(fd: c_int, from: *const c_void, size: usize) -> isize;
    fn pthread_sigmask(how: c_int, set: *const Signals, old: *mut Signals) -> c_int;
    fn sigpending(set: *mut Signals) -> c_int;
    fn sigtimedwait(set: *const Signals, info: *mut c_void, time: *const [c_long; 2]) -> c_int;
}

/// Writes to stderr, without the lock of `std::io::stderr()`, which another thread may hold.
pub fn write_stderr(text: &str) {
    let path = Path::new("/proc/self/fd/2");
    // Setting O_NONBLOCK for fd 2 itself would change it for all processes that have it open.
    let own = match std::fs::metadata(path).map(|data| data.file_type()) {
        Ok(kind) if kind.is_fifo() || kind.is_char_device() => open(path).ok(),
        _ => None,
    };
    let _ = write_all(own.as_ref().map_or(2, AsRawFd::as_raw_fd), text.as_bytes());
}

/// Writes to a device or a pipe without replacing it.
pub fn write_in_place(path: &Path, text: &str) -> std::io::Result<()> {
    let file = open(path)?;
    write_all(file.as_raw_fd(), text.as_bytes())
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).truncate(true);
    options.custom_flags(O_NONBLOCK | O_NOCTTY).open(path)
}

/// Waits at most a second for a reader. No signal ends or stops the program, and pending signals stay pending.
fn write_all(fd: c_int, mut text: &[u8]) -> std::io::Result<()> {
    let [mut set, mut old, mut pending] = [Signals::default(); 3];
    set[0] = OF_WRITE | SIGTTOU;
    // SAFETY: the sets are valid. Only the mask of this thread changes.
    unsafe { pthread_sigmask(SIG_BLOCK, &set, &mut old) };
    // Signals that were not blocked are not pending.
    if old[0] & OF_WRITE != 0 {
        // SAFETY: a valid set.
        unsafe { sigpending(&mut pending) };
    }
    let (mut waits, mut written) = (0, Ok(()));
    while !text.is_empty() && written.is_ok() {
        match write_piece(fd, &text[..text.len().min(PIPE_BUF)]) {
            Ok(0) => written = Err(ErrorKind::WriteZero.into()),
            Ok(size) => text = &text[size..],
            Err(error) if is_temporary(error.kind()) && waits < 10 => waits += 1,
            Err(error) => written = Err(error),
        }
    }
    // SAFETY: valid sets and a valid time, which is 0.
    unsafe {
        set[0] = OF_WRITE & !pending[0];
        if written.is_err() {
            sigtimedwait(&set, std::ptr::null_mut(), &[0, 0]);
        }
        pthread_sigmask(SIG_SETMASK, &old, std::ptr::null_mut());
    }
    written
}

/// Returns `true` if repeating the call may succeed.
pub fn is_temporary(error: ErrorKind) -> bool {
    matches!(error, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Waits at most 100 ms.
fn write_piece(fd: c_int, piece: &[u8]) -> std::io::Result<usize> {
    let (events, revents) = (POLLOUT, 0);
    let mut stream = PollFd {
        fd,
        events,
        revents,
    };
    // SAFETY: one valid entry.
    match unsafe { poll(&mut stream, 1, 100) } {
        -1 if Error::last_os_error().kind() == ErrorKind::Interrupted => {
            return Err(ErrorKind::Interrupted.into());
        }
        0 => return Err(ErrorKind::WouldBlock.into()),
        // A sandbox may refuse poll, but allow write.
        _ => {}
    }
    if stream.revents & CLOSED != 0 {
        return Err(ErrorKind::BrokenPipe.into());
    }
    // SAFETY: a valid piece.
    let size = unsafe { write(fd, piece.as_ptr().cast(), piece.len()) };
    usize::try_from(size).map_err(|_| Error::last_os_error())
}
