use regex_lite::Regex;
use std::sync::LazyLock;

/// A pattern that is compiled on first use. In an unoptimized build script, compiling it takes half a millisecond, as
/// does matching a kilobyte of text.
pub type Pattern = LazyLock<Regex>;

/// Compiles a pattern. It cannot fail at run time, because the tests use every pattern.
pub fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant of this crate")
}
