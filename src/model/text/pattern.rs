//! Patterns for what is read off text.

use crate::runtime::facts::version::Version;
use regex::Regex;
use std::sync::LazyLock;

/// A pattern that is compiled when it is first used: in a build script, which nobody optimises, that takes half a
/// millisecond. So does every kilobyte that it is held against.
pub type Pattern = LazyLock<Regex>;

/// Compiles a pattern. The tests use each of them.
pub fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant of this crate")
}

/// The release whose numbers are the groups of this pattern; a third group that is not there counts as 0.
pub fn release(pattern: &Regex, text: &str) -> Option<Version> {
    let found = pattern.captures(text)?;
    let number = |group| Some(found.get(group)?.as_str().parse().ok());
    Some(Version::new(
        number(1)??,
        number(2)??,
        number(3).unwrap_or(Some(0))?,
    ))
}
