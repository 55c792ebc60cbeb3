//! The end of a child, on every system.

use std::time::Duration;

/// The bytes to keep of a child's answer and output.
pub const ANSWER_LIMIT: usize = 1 << 20;
pub const OUTPUT_LIMIT: usize = 4096;
/// The time to wait for the end of a child that was killed or that has finished its report.
pub const LEAST_WAIT: Duration = Duration::from_secs(2);

/// The way in which a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// By itself; the answer shows whether it is complete.
    Itself,
    Signal(i32),
    /// A sandbox forbids this system call, if the number is known.
    Sandbox(Option<i32>),
    /// Killed at the deadline.
    Late,
}

#[derive(Debug)]
pub struct ChildExit {
    pub end: ExitStatus,
    pub answer: String,
    /// The beginning of its stdout and stderr.
    pub output: String,
}

/// Returns the name of an exit code that a crash in a library causes on Windows; `None` for a code set from outside.
#[cfg(windows)]
pub fn signal_name(code: i32) -> Option<&'static str> {
    Some(match code as u32 {
        3 => "abort()",
        0x4000_0015 => "STATUS_FATAL_APP_EXIT, 0x40000015",
        0x8000_0003 => "STATUS_BREAKPOINT, 0x80000003",
        0xc000_0005 => "STATUS_ACCESS_VIOLATION, 0xC0000005",
        0xc000_0006 => "STATUS_IN_PAGE_ERROR, 0xC0000006",
        0xc000_001d => "STATUS_ILLEGAL_INSTRUCTION, 0xC000001D",
        0xc000_0025 => "STATUS_NONCONTINUABLE_EXCEPTION, 0xC0000025",
        0xc000_0094 => "STATUS_INTEGER_DIVIDE_BY_ZERO, 0xC0000094",
        0xc000_00fd => "STATUS_STACK_OVERFLOW, 0xC00000FD",
        0xc000_0374 => "STATUS_HEAP_CORRUPTION, 0xC0000374",
        // abort() in most of today's C runtimes.
        0xc000_0409 => "STATUS_STACK_BUFFER_OVERRUN, 0xC0000409: abort()",
        0xc06d_007e => "missing DLL, 0xC06D007E",
        0xc06d_007f => "missing function in a DLL, 0xC06D007F",
        0xe06d_7363 => "C++ exception, 0xE06D7363",
        _ => return None,
    })
}

/// Returns the name of a signal that a crash in a library causes; `None` for a signal sent from outside.
#[cfg(not(windows))]
pub fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        11 => "SIGSEGV",
        _ => return None,
    })
}
