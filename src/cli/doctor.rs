//! `cudnn-guard doctor`: reports what a build would find, and its faults.

mod usage;

use crate::cli::doctor::usage::Usage;
use crate::cli::terminal::{self, flag, option};
use crate::compat::cargo_lock::texts;
use crate::inspection::frameworks::FRAMEWORKS;
use crate::inspection::{driver_stub, interpreter, wheel_overlap};
use crate::report::ToolchainReport;
use crate::runtime::facts::finding_id::is_not_found;
use crate::runtime::system::PathCache;
use crate::{Config, Finding, Link, Severity, Verdict};
use clap::{Arg, ArgMatches, Command};
use semver::VersionReq;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The default requirement: any version, but both CUDA and cuDNN.
pub const ANY: &str = ">=0";

pub fn command() -> Command {
    Command::new("doctor")
        .about("Show what a build would find on this machine, and what is wrong with it")
        .after_help("Examples:\n  cudnn-guard doctor --cudnn \">=9.1, <10\"\n  cudnn-guard doctor --link runtime\n  cudnn-guard doctor --markdown --redact")
        .arg(terminal::json().conflicts_with("markdown"))
        .arg(flag("markdown", "Format the report for a GitHub issue"))
        .arg(flag(
            "redact",
            "Replace your home directory, user name and host name with ~, USER and HOST",
        ))
        .arg(root())
        .arg(option("target", "TRIPLE", "Search for libraries for this target triple"))
        .arg(
            option(
                "link",
                "HOW",
                "How the program uses cuDNN: linked, opened at run time (needs no toolkit), or through the crate ort or tch (Linux)",
            )
            .value_parser(["dynamic", "runtime", "ort", "tch"]),
        )
        .arg(
            option("cuda", "REQ", "Require this CUDA version, such as `>=12.4`")
                .value_parser(|text: &str| VersionReq::parse(text)),
        )
        .arg(
            option("cudnn", "REQ", "Require this cuDNN version, such as `>=9.1, <10`")
                .value_parser(|text: &str| VersionReq::parse(text)),
        )
}

/// Prints the report. Exit codes: 0 without errors, 1 with errors.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let report = examine(arguments);
    show(&report, arguments);
    terminal::exit(report.verdict())
}

fn examine(arguments: &ArgMatches) -> ToolchainReport {
    let any = || ANY.to_string();
    let _cache = PathCache::start();
    let cuda = arguments.get_one::<VersionReq>("cuda");
    let cudnn = arguments.get_one::<VersionReq>("cudnn");
    let mut config = Config::new()
        .cuda(cuda.map_or_else(any, ToString::to_string))
        .cudnn(cudnn.map_or_else(any, ToString::to_string));
    if let Some(root) = arguments.get_one::<PathBuf>("root") {
        config = config.root(root);
    }
    if let Some(target) = arguments.get_one::<String>("target") {
        config = config.target(target);
    }
    let link = arguments.get_one::<String>("link");
    if link.is_some_and(|how| how != "dynamic") {
        config = config.link(Link::Runtime);
    }
    let usage = match cudnn.is_some() || link.is_some() || config.root.is_some() {
        false if Path::new("Cargo.toml").is_file() => usage::find(&config.host().env),
        _ => Usage::Cudnn,
    };
    match usage {
        Usage::Opened if cuda.is_none() => config.link = Link::Runtime,
        Usage::NoCuda | Usage::Ort if cuda.is_none() => {
            (config.cudnn, config.link) = (None, Link::Runtime);
        }
        Usage::NoCuda | Usage::Ort | Usage::NoCudnn => config.cudnn = None,
        Usage::Opened | Usage::Unknown | Usage::Cudnn => {}
    }
    let toolchain = config.survey();
    let mut report = toolchain.examine();
    if usage == Usage::Unknown && report.verdict() == Verdict::Fail {
        config.cudnn = None;
        if cuda.is_none() {
            config.link = Link::Runtime;
        }
        let without = config.survey().examine().findings;
        for finding in &mut report.findings {
            let is_same = |other: &Finding| other.summary == finding.summary;
            if finding.severity == Severity::Error && !without.iter().any(is_same) {
                let unknown =
                    "unknown for this crate; `doctor --cuda '>=12' --cudnn '>=9'` requires both";
                finding.override_severity(Severity::Warning, "required", unknown);
                report.doubt = Some("this crate may require CUDA or cuDNN".into());
            }
        }
    }
    let (host, installed) = (&toolchain.host, &toolchain.candidates);
    let mut locks = texts(&host.env, "Cargo.lock");
    let is_tch = config.root.is_none() && locks.any(|lock| lock.contains("\"torch-sys\""));
    let used = match usage {
        _ if is_tch => "tch",
        Usage::Ort => "ort",
        _ => "",
    };
    let name = link.map_or(used, String::as_str);
    if let Some(framework) = FRAMEWORKS.iter().find(|one| one.name == name) {
        framework.examine(host, installed, link.is_some(), &mut report);
    }
    let (cpu, loader) = (&host.platform.cpu, host.platform.loader());
    let musl = |root| interpreter::missing_interpreter(None, loader, cpu, Some(root));
    if let Some(musl) = host.root.as_deref().and_then(musl) {
        // An installation would not help.
        report.findings.retain(|one| !is_not_found(one.id));
        report.findings.insert(0, musl.finding());
    }
    let in_image = driver_stub::in_image(host.sysroot());
    report.findings.extend(wheel_overlap::find(host));
    report.findings.extend(in_image);
    report
}

fn show(report: &ToolchainReport, arguments: &ArgMatches) {
    let text = with_page(report, report.findings());
    let mut text = terminal::form(arguments, report.to_json(), text);
    if arguments.get_flag("redact") {
        text = terminal::redacted(&text);
    }
    if arguments.get_flag("markdown") {
        text = for_issue(&text);
    }
    terminal::show(text);
}

/// Formats a report for an issue on GitHub, with facts about this machine.
fn for_issue(text: &str) -> String {
    let mut fence = "```".to_string();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!(
        "cudnn-guard {} on {} {}\n\n{fence}text\n{text}{fence}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        std::env::consts::OS
    )
}

pub fn root() -> Arg {
    let help = "Examine the system image in this directory";
    option("root", "DIR", help).value_parser(terminal::directory)
}

/// Returns a report, with the command that explains its first error, or else its first warning.
pub fn with_page(report: impl Display, findings: &[Finding]) -> String {
    let text = format!("{report:0$}", terminal::columns());
    let first = |severity| findings.iter().find(|one| one.severity == severity);
    match first(Severity::Error).or_else(|| first(Severity::Warning)) {
        Some(finding) => format!("{text}for details and fixes, run `{}`\n", finding.page()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_does_not_close_its_own_fence() {
        let text = for_issue("  ```\n");
        assert!(text.ends_with("\n\n````text\n  ```\n````\n"), "{text}");
    }
}
