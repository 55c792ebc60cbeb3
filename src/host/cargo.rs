//! The one place that speaks to cargo.

/// Prints one `cargo::` line. A value that holds a line break could start a line of its own, so such a line is left
/// out: what it would say is about a path that no build tool can pass on.
#[allow(clippy::disallowed_macros)] // this is where it is allowed
pub fn emit(line: &str) {
    if !line.chars().any(|character| character.is_control()) {
        println!("{line}");
    }
}
