//! Writing to pipes, sockets and terminals, which may wait for a reader or raise a signal.

use crate::runtime::system::linux::process::PollFd;
use std::ffi::{c_int, c_long, c_short, c_ulong, c_void};
use std::fs::OpenOptions;
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
/// The signal of a process that writes in the background of a terminal. If it is blocked, the process may write.
const SIGTTOU: c_ulong = 1 << 21;
const EFBIG: c_int = 27;
const EPIPE: c_int = 32;
/// The time for a reader: so many times 100 ms.
const MOST_WAITS: u32 = 10;

/// `sigset_t`.
type Signals = [c_ulong; 1024 / c_ulong::BITS as usize];

unsafe extern "C" {
    fn poll(fds: *mut PollFd, count: c_ulong, milliseconds: c_int) -> c_int;
    fn write(fd: c_int, from: *const c_void, size: usize) -> isize;
    fn pthread_sigmask(how: c_int, set: *const Signals, old: *mut Signals) -> c_int;
    fn sigpending(set: *mut Signals) -> c_int;
    fn sigtimedwait(set: *const Signals, info: *mut c_void, time: *const [c_long; 2]) -> c_int;
}

/// Writes to stderr, without the lock of `std::io::stderr()`, which another thread may hold.
pub fn write_stderr(text: &str) {
    let path = Path::new("/proc/self/fd/2");
    let kind = std::fs::metadata(path).map(|data| data.file_type());
    let options = OpenOptions::new().write(true).clone();
    // Setting O_NONBLOCK for fd 2 itself would change it for all processes that have it open.
    let own = match kind {
        Ok(kind) if kind.is_fifo() || kind.is_char_device() => open(options, path).ok(),
        _ => None,
    };
    let fd = own.as_ref().map_or(2, AsRawFd::as_raw_fd);
    // A pipe or a socket that is ready takes PIPE_BUF bytes.
    let at_once = own.is_some() || kind.is_ok_and(|kind| kind.is_file());
    let most = if at_once { usize::MAX } else { 4096 };
    let _ = write_pieces(fd, text.as_bytes(), most);
}

/// Writes to a device or a pipe without replacing it, and waits at most a second for its reader.
pub fn write_in_place(path: &Path, text: &str) -> std::io::Result<()> {
    let options = OpenOptions::new().write(true).truncate(true).clone();
    write_pieces(
        open(options, path)?.as_raw_fd(),
        text.as_bytes(),
        usize::MAX,
    )
}

fn open(mut options: OpenOptions, path: &Path) -> std::io::Result<std::fs::File> {
    options.custom_flags(O_NONBLOCK | O_NOCTTY).open(path)
}

/// Writes pieces of at most this size. No signal ends or stops the program, and a signal that was pending stays pending.
fn write_pieces(fd: c_int, mut text: &[u8], most: usize) -> std::io::Result<()> {
    let (mut set, mut old, mut pending) =
        (Signals::default(), Signals::default(), Signals::default());
    set[0] = OF_WRITE | SIGTTOU;
    // SAFETY: the sets are valid. Only this thread's mask changes.
    unsafe { pthread_sigmask(SIG_BLOCK, &set, &mut old) };
    // Otherwise no such signal is pending.
    if old[0] & OF_WRITE != 0 {
        // SAFETY: a valid set.
        unsafe { sigpending(&mut pending) };
    }
    let mut waits = 0;
    let mut written = Ok(());
    while !text.is_empty() && written.is_ok() {
        match write_piece(fd, &text[..text.len().min(most)]) {
            Ok(size) => text = &text[size..],
            Err(error) if is_temporary(error.kind()) && waits < MOST_WAITS => waits += 1,
            Err(error) => written = Err(error),
        }
    }
    set[0] = OF_WRITE & !pending[0];
    if let Some(EFBIG | EPIPE) = written.as_ref().err().and_then(Error::raw_os_error) {
        // SAFETY: a valid set and time; no details are requested. The call does not wait.
        unsafe { sigtimedwait(&set, std::ptr::null_mut(), &[0, 0]) };
    }
    // SAFETY: restores this thread's mask.
    unsafe { pthread_sigmask(SIG_SETMASK, &old, std::ptr::null_mut()) };
    written
}

fn is_temporary(error: ErrorKind) -> bool {
    matches!(error, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn write_piece(fd: c_int, piece: &[u8]) -> std::io::Result<usize> {
    let mut stream = PollFd {
        fd,
        events: POLLOUT,
        revents: 0,
    };
    // SAFETY: one valid entry.
    let ready = unsafe { poll(&mut stream, 1, 100) };
    // If the call is refused, the stream counts as ready.
    if ready == 0 {
        return Err(ErrorKind::WouldBlock.into());
    }
    if stream.revents & CLOSED != 0 {
        return Err(ErrorKind::BrokenPipe.into());
    }
    // SAFETY: the piece is valid.
    let size = unsafe { write(fd, piece.as_ptr().cast(), piece.len()) };
    usize::try_from(size).map_err(|_| Error::last_os_error())
}
