//! `cudnn-guard targets`: the nvcc flags for a list of GPU targets.

use crate::cli::terminal;
use crate::{Config, Version};
use clap::{ArgMatches, Command};
use std::process::ExitCode;

pub fn command() -> Command {
    let list = "Targets, such as `80 9.0+PTX`, `90a`, `all-major`, `native` or `RTX 4090` [default: those of a build on this machine]";
    Command::new("targets")
        .about("Show the nvcc flags for a list of GPU targets")
        .after_help("Examples:\n  cudnn-guard targets \"80 90+PTX\"\n  cudnn-guard targets \"RTX 4090\" --cuda 12.8")
        .arg(
            terminal::operand("list", "LIST", list).num_args(0..),
        )
        .arg(
            terminal::option(
                "cuda",
                "X.Y",
                "Assume the nvcc of this CUDA version instead of querying the installed one",
            )
            .value_parser(release),
        )
        .arg(terminal::json())
}

/// Parses the list and prints the flags. Exit codes: 0 without errors, 1 with errors.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let words = arguments.get_many::<String>("list");
    let list = words.map(|words| words.cloned().collect::<Vec<_>>().join(" "));
    let cuda = arguments.get_one::<Version>("cuda").copied();
    let report = Config::new().examine_targets(list.as_deref(), cuda);
    if arguments.get_flag("json") {
        terminal::show(format!("{}\n", report.to_json()));
    } else {
        terminal::show(&report);
    }
    terminal::exit(report.verdict())
}

/// Parses a CUDA version. nvcc's targets do not depend on a third number.
fn release(text: &str) -> Result<Version, String> {
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(Some(major)), Some(Some(minor))) => Ok(Version::new(major, minor, 0)),
        _ => Err("a CUDA version is two numbers, such as 12.8".to_string()),
    }
}
