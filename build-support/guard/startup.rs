//! The guard as the first line of `main`: the only file that prints, and the only one that exits.

use crate::runtime::check;
use crate::runtime::child::{Functions, on_enough_stack};
use crate::runtime::convolution::Extent;
use crate::runtime::facts::built_record::BuiltRecord;
use crate::runtime::facts::{Built, Finding, Verdict, allowed, printable};
use crate::runtime::report::{EnvConfig, Mode};
use crate::runtime::system::platform;

/// `EX_CONFIG` of sysexits.h: something in the configuration is wrong.
pub const EXIT: i32 = 78;

impl BuiltRecord {
    /// Checks the cuDNN of this program. A pass prints nothing. An unknown verdict prints at most four lines, and each
    /// allowed finding prints one. A failure prints its reason and exits with 78, unless `CUDNN_GUARD=warn` is set.
    pub fn startup(&self) {
        startup_with(self.facts(), Functions::default());
    }
}

/// Like [`BuiltRecord::startup`], but calls the driver and cuDNN through `functions`.
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
    let result = check::check_for(built, &env_config, Extent::Quick, false, functions);
    let failure = match result {
        Err(failure) if failure.verdict() == Verdict::Fail => failure,
        result => {
            let (report, unknown) = match &result {
                Ok(report) => (report, None),
                Err(failure) => (failure.report(), Some(failure.brief())),
            };
            for finding in report.findings() {
                if let Some(by) = allowed::allowed_by(finding) {
                    let summary = printable(&finding.summary);
                    write_stderr(&format!(
                        "cudnn-guard: allowed {}: {}  [{}]",
                        by, summary, finding.id
                    ));
                }
            }
            let unwritten = report.findings().last();
            if let Some(finding) = unwritten.filter(|_| report.contents.is_unwritten) {
                print(finding);
            }
            if let Some(text) = unknown {
                write_stderr(&format!("cudnn-guard: unknown: {text}"));
            }
            return;
        }
    };
    let mut text = failure.to_string();
    let is_stopped = env_config.mode != Mode::Warn;
    if is_stopped && !platform::is_privileged() {
        let hint = "\n  = help: set CUDNN_GUARD=warn to start the program anyway";
        // The hint goes under the cause, before the report.
        text.insert_str(text.find("\n\n").unwrap_or(text.len()), hint);
    }
    write_stderr(&text);
    if is_stopped {
        std::process::exit(EXIT);
    }
}

/// Prints the finding about a call that cannot succeed.
pub fn print(finding: &Finding) {
    write_stderr(&format!("cudnn-guard: {finding}"));
}

/// Writes a line to stderr, which cannot stop the program: see [`platform::write_stderr`].
fn write_stderr(text: &str) {
    platform::write_stderr(&format!("{text}\n"));
}
