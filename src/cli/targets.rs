//! `cudnn-guard targets`: the nvcc flags for a list of GPU targets.

use crate::cli::{numbers, terminal};
use crate::{Config, Version};
use clap::{ArgMatches, Command};
use std::process::ExitCode;

pub fn command() -> Command {
    let list = "Targets, such as `80 9.0+PTX`, `90a`, `all-major`, `native` or `RTX 4090` [default: CUDNN_GUARD_ARCHS or another variable, else this machine's GPUs, else `all-major`]";
    Command::new("targets")
        .about("Show the nvcc flags for a list of GPU targets")
        .after_help("Examples:\n  cudnn-guard targets \"80 90+PTX\"\n  cudnn-guard targets \"RTX 4090\" --cuda 12.8")
        .arg(terminal::operand("list", "LIST", list).num_args(0..))
        .arg(
            terminal::option("cuda", "VERSION", "Show the flags for this CUDA version: `12` or `12.4` [default: query the installed nvcc]")
                .value_parser(|text: &str| numbers::parse(text, 2).ok_or("write it as 13 or 13.0")),
        )
        .arg(terminal::json())
}

/// Parses the list and prints the flags. Exit codes: 0 without errors, 1 with errors.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let words = arguments.get_many::<String>("list");
    let list = words.map(|words| words.cloned().collect::<Vec<_>>().join(" "));
    let cuda = arguments.get_one::<String>("cuda");
    let cuda = cuda.and_then(|cuda| Version::parse(&format!("{cuda}.0")));
    let report = Config::new().examine_targets(list.as_deref(), cuda);
    let text = format!("{report:0$}", terminal::message_columns());
    terminal::show(terminal::form(arguments, report.to_json(), text));
    terminal::exit(report.verdict())
}
