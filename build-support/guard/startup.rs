//! The guard as the first line of `main`: the only file that prints, and the only one that ends the program.

use crate::runtime::check::{self, CheckMode};
use crate::runtime::child::in_process::on_enough_stack;
use crate::runtime::child::task::{Functions, REAL};
use crate::runtime::convolution::case_result::Extent;
use crate::runtime::facts::allowed;
use crate::runtime::facts::built::Built;
use crate::runtime::facts::finding::{Verdict, printable};
use crate::runtime::report::env_config::{EnvConfig, Mode};
use crate::runtime::system::platform;
use std::io::Write;

/// `EX_CONFIG` of sysexits.h: something in the configuration is wrong.
const EXIT: i32 = 78;

/// Checks; silent on pass, at most four lines on unknown, and a line for what is let pass. On fail the reason is printed and, unless `CUDNN_GUARD=warn` is
/// set, the program ends with 78.
pub fn startup(built: &Built) {
    startup_with(built, REAL);
}

/// [`startup`] with these functions in place of those that ask the driver and cuDNN.
pub fn startup_with(built: &Built, functions: Functions) {
    on_enough_stack(&|| start(built, functions));
}

fn start(built: &Built, functions: Functions) {
    let env_config = EnvConfig::read();
    for finding in env_config.findings() {
        write_stderr(&format!("cudnn-guard: {}", finding.summary));
    }
    if env_config.mode == Mode::Off {
        return;
    }
    let result = check::check_for(
        built,
        &env_config,
        CheckMode::InChild(Extent::Quick),
        functions,
    );
    let failure = match result {
        Err(failure) if failure.verdict() == Verdict::Fail => failure,
        goes_on => {
            let (report, unknown) = match &goes_on {
                Ok(report) => (report, None),
                Err(failure) => (failure.report(), Some(failure.brief())),
            };
            for finding in report.findings() {
                if let Some(by) = allowed::let_pass(finding) {
                    let summary = printable(&finding.summary);
                    write_stderr(&format!(
                        "cudnn-guard: let pass {}: {}  [{}]",
                        by, summary, finding.id
                    ));
                }
            }
            if let (true, Some(finding)) = (report.is_unwritten, report.findings().last()) {
                write_stderr(&format!("cudnn-guard: {finding}"));
            }
            if let Some(text) = unknown {
                write_stderr(&format!("cudnn-guard: unknown: {text}"));
            }
            return;
        }
    };
    if env_config.mode == Mode::Warn {
        write_stderr(&format!("{failure}"));
        return;
    }
    let text = failure.to_string();
    if platform::is_privileged() {
        write_stderr(&text);
        std::process::exit(EXIT);
    }
    let hint = "  = help: set CUDNN_GUARD=warn to start the program all the same";
    // Under the cause, before the report.
    match text.split_once("\n\n") {
        Some((cause, rest)) => write_stderr(&format!("{cause}\n{hint}\n\n{rest}")),
        None => write_stderr(&format!("{text}\n{hint}")),
    }
    std::process::exit(EXIT);
}

/// A closed stderr is no reason to panic, nor to end.
fn write_stderr(text: &str) {
    if !platform::stderr_is_open() {
        return;
    }
    // In one piece, since other processes may write there too.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
