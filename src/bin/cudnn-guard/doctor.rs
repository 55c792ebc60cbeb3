//! `cudnn-guard doctor`: what a build would find here, and what is wrong with it.

use crate::terminal;
use clap::{Arg, ArgMatches, Command};
use cudnn_guard::{Config, Finding, Severity};
use semver::VersionReq;
use std::path::PathBuf;
use std::process::ExitCode;

/// Any release will do: somebody who asks the doctor wants both to be there.
const ANY: &str = ">=0";

/// Its command line.
pub fn command() -> Command {
    Command::new("doctor")
        .about("Says what a build would find here, and what is wrong with it")
        .arg(terminal::json())
        .arg(root())
        .arg(
            Arg::new("target")
                .long("target")
                .value_name("TRIPLE")
                .help("Look for libraries of this target"),
        )
        .arg(requirement("cuda", "Need a CUDA that meets this: '>=12.0'"))
        .arg(requirement(
            "cudnn",
            "Need a cuDNN that meets this: '>=9.1, <10'",
        ))
}

/// Looks and prints: 0 without errors, 1 with some.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let request = |name: &str| {
        arguments
            .get_one::<VersionReq>(name)
            .map_or(ANY.to_string(), ToString::to_string)
    };
    let mut config = Config::new().cuda(request("cuda")).cudnn(request("cudnn"));
    if let Some(root) = arguments.get_one::<PathBuf>("root") {
        config = config.root(root);
    }
    if let Some(target) = arguments.get_one::<String>("target") {
        config = config.target(target);
    }
    let report = config.survey().examine();
    if arguments.get_flag("json") {
        terminal::show(format!("{}\n", report.to_json()));
    } else {
        terminal::show(&report);
        explain_first(report.findings());
    }
    terminal::exit(report.verdict())
}

/// Another system than this machine's.
pub fn root() -> Arg {
    Arg::new("root")
        .long("root")
        .value_name("DIR")
        .value_parser(directory)
        .help("Look at the system below this directory")
}

/// Says where more is said of the first error, or of the first warning.
pub fn explain_first(findings: &[Finding]) {
    let mut first = None;
    for severity in [Severity::Error, Severity::Warning] {
        first = first.or_else(|| findings.iter().find(|one| one.severity == severity));
    }
    if let Some(finding) = first {
        let page = finding.page();
        terminal::show(format!("`{page}` tells how to mend this fault\n"));
    }
}

fn requirement(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("REQ")
        .value_parser(|text: &str| VersionReq::parse(text))
        .help(help)
}

fn directory(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_dir() {
        Ok(path)
    } else {
        Err("there is no such directory".to_string())
    }
}
