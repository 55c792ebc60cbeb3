//! Output for cargo.

use crate::runtime::facts::Finding;
use crate::system::Directive;

/// Prints a directive. It contains no line break from the machine's data, which could start another directive.
#[allow(clippy::disallowed_macros)] // the only place that prints
pub fn emit(directive: &Directive) {
    println!("{directive}");
}

/// Prints a finding, one warning per line.
pub fn warn(finding: &Finding) {
    for line in finding.to_string().lines() {
        emit(&Directive::Warning(line.to_string()));
    }
}
