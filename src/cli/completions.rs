//! `cudnn-guard completions`: prints completions for a shell.

use crate::cli::{command_line, terminal};
use clap::{ArgMatches, Command, value_parser};
use clap_complete::Shell;
use std::process::ExitCode;

pub fn command() -> Command {
    Command::new("completions")
        .about("Generate shell completions")
        .after_help("Example:\n  cudnn-guard completions bash > ~/.local/share/bash-completion/completions/cudnn-guard")
        .arg(terminal::operand("shell", "SHELL", "Shell to generate completions for").required(true).value_parser(value_parser!(Shell)))
}

pub fn run(arguments: &ArgMatches) -> ExitCode {
    let shell = arguments.get_one::<Shell>("shell").expect("required");
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut command_line(), "cudnn-guard", &mut script);
    terminal::show(String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
