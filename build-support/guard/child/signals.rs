//! The signal handlers of a child, which report how it ends.

use crate::runtime::child::ExitStatus;
use crate::runtime::facts::codec::parsed;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// Signals of crashes: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV.
const DEADLY: [c_int; 6] = [4, 5, 6, 7, 8, 11];
/// The signal of a system call that a sandbox forbids.
pub const SIGSYS: c_int = 31;
const SIG_DFL: usize = 0;
const SIG_IGN: usize = 1;
const SA_SIGINFO: c_int = 4;
/// The lines of a child that a signal ends, and of a child that a forbidden system call ends.
const SIGNAL: &str = "\nsignal ";
const SYSTEM_CALL: &str = "\nsystem-call ";

/// The beginning of `siginfo_t`, up to `si_syscall`.
type SignalInfo = [c_int; 7];
type Handler = extern "C" fn(c_int, *const SignalInfo, *mut c_void);

/// `struct sigaction`
#[repr(C)]
struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

unsafe extern "C" {
    fn raise(signal: c_int) -> c_int;
    fn signal(signal: c_int, handler: usize) -> usize;
    fn sigaction(signal: c_int, action: *const Action, old: *mut Action) -> c_int;
    fn write(fd: c_int, from: *const c_void, size: usize) -> isize;
}

/// The answer pipe.
static ANSWER: AtomicI32 = AtomicI32::new(-1);
/// The forbidden system call that a handler is dealing with; -1 if there is none. A handler that does not return leaves
/// it set: a later crash then counts as the sandbox's, which stops no program.
static FORBIDDEN: AtomicI32 = AtomicI32::new(-1);
/// The program's own handler of SIGSYS.
static SANDBOX: AtomicUsize = AtomicUsize::new(SIG_DFL);

/// Makes this child report to `answer` how it ends. The program's own handlers are replaced, so that a crash does not
/// start its crash reporter. Only its handler of SIGSYS remains: a sandbox answers forbidden system calls there.
pub fn report_to(answer: c_int) {
    ANSWER.store(answer, Ordering::Relaxed);
    let (crash, forbidden): (extern "C" fn(c_int), Handler) = (report_signal, on_forbidden_call);
    // SAFETY: plain system calls on this process, for a structure of numbers. Both handlers only do what is safe in one.
    unsafe {
        let mut action: Action = std::mem::zeroed();
        if sigaction(SIGSYS, std::ptr::null(), &mut action) == 0 {
            SANDBOX.store(action.handler, Ordering::Relaxed);
            action.handler = forbidden as usize;
            action.flags |= SA_SIGINFO;
            sigaction(SIGSYS, &action, std::ptr::null_mut());
        }
        for number in DEADLY {
            signal(number, crash as usize);
        }
    }
}

extern "C" fn on_forbidden_call(number: c_int, info: *const SignalInfo, context: *mut c_void) {
    // SAFETY: the kernel passes a `siginfo_t`.
    let [_, _, code, .., call] = unsafe { *info };
    // Another process may send the signal too. The code is then not positive.
    if code > 0 {
        FORBIDDEN.store(call, Ordering::Relaxed);
    }
    let handler = SANDBOX.load(Ordering::Relaxed);
    if handler == SIG_DFL || handler == SIG_IGN {
        return report_signal(number);
    }
    // SAFETY: the program has set this handler for the signal. A handler without SA_SIGINFO has only the first argument.
    let handler: Handler = unsafe { std::mem::transmute(handler) };
    // Many sandboxes crash here, which ends the child before the number is cleared.
    handler(number, info, context);
    FORBIDDEN.store(-1, Ordering::Relaxed);
}

extern "C" fn report_signal(number: c_int) {
    let (label, value) = match FORBIDDEN.load(Ordering::Relaxed) {
        -1 => (SIGNAL, number),
        call => (SYSTEM_CALL, call),
    };
    let digit = |value: c_int| b'0' + (value % 10) as u8;
    let digits = [digit(value / 100), digit(value / 10), digit(value), b'\n'];
    for piece in [label.as_bytes(), &digits] {
        let answer = ANSWER.load(Ordering::Relaxed);
        // SAFETY: write is safe in a signal handler.
        unsafe { write(answer, piece.as_ptr().cast(), piece.len()) };
    }
    // SAFETY: both are safe in a signal handler. The default action ends the process as without this handler.
    unsafe {
        signal(number, SIG_DFL);
        raise(number);
    }
}

/// Splits a handler's line off the answer.
pub fn split_end(answer: &str) -> (&str, Option<ExitStatus>) {
    let split = |label| {
        let (answer, number) = answer.rsplit_once(label)?;
        Some((answer, parsed(number.trim())))
    };
    match (split(SYSTEM_CALL), split(SIGNAL)) {
        (Some((answer, call)), _) => (answer, Some(ExitStatus::Sandbox(call))),
        (None, Some((answer, number))) => (answer, number.map(ExitStatus::Signal)),
        (None, None) => (answer, None),
    }
}
