//! What a child leaves behind, on every system.

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself; whether the answer is whole, it alone tells.
    Itself,
    /// By this signal.
    Signal(i32),
    /// It was still at work when the time was over, and was killed.
    Late,
}

/// What a child left.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub end: End,
    /// The lines that it told.
    pub answer: String,
    /// The beginning of what was printed in it.
    pub said: String,
}
