//! What a child leaves behind, on every system.

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// By itself; whether the answer is whole, it alone tells.
    Itself,
    /// By this signal.
    Signal(i32),
    /// It was still at work when the time was over, and was killed.
    Late,
}

/// What a child left.
#[derive(Debug)]
pub struct ChildExit {
    /// How it ended.
    pub end: ExitStatus,
    /// The lines that it told.
    pub answer: String,
    /// The beginning of what was printed in it.
    pub said: String,
}

/// The signals by which a library takes a process down; others come from outside.
pub fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        11 => "SIGSEGV",
        31 => "SIGSYS",
        _ => return None,
    })
}
