//! A search in the constants of a program or library.

use std::io::BufRead;

/// Returns `true` if the text contains this letter, followed by `tail`. The two are separate so that a program with this
/// code does not contain the words that it searches.
pub fn contains(text: &[u8], letter: u8, tail: &[u8]) -> bool {
    let mut rest = text;
    // `skip_until` is optimized even in debug builds, unlike a loop over bytes.
    while rest.skip_until(letter).is_ok_and(|skipped| skipped > 0) {
        if rest.starts_with(tail) {
            return true;
        }
    }
    false
}
