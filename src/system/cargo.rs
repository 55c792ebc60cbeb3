//! The one place that speaks to cargo.

use crate::runtime::facts::finding::Finding;
use crate::system::directive::Directive;

/// Prints the line for cargo to read. Nothing in a directive that comes from the machine holds a
/// line break, which could begin a line of its own.
#[allow(clippy::disallowed_macros)] // this is where it is allowed
pub fn emit(directive: &Directive) {
    println!("{directive}");
}

/// Prints a finding as warnings, one to each of its lines.
pub fn warn(finding: &Finding) {
    for line in finding.to_string().lines() {
        emit(&Directive::Warning(line.to_string()));
    }
}
