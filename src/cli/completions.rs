//! `cudnn-guard completions`: prints a script for a shell.

use crate::cli::{command_line, page, terminal};
use clap::builder::PossibleValue;
use clap::{ArgMatches, Command, value_parser};
use clap_complete::Shell;
use std::process::ExitCode;

pub fn command() -> Command {
    Command::new("completions")
        .about("Generate shell completions")
        .after_help("Examples:\n  mkdir -p ~/.local/share/bash-completion/completions && cudnn-guard completions bash > ~/.local/share/bash-completion/completions/cudnn-guard\n  \
             mkdir -p ~/.zfunc && cudnn-guard completions zsh > ~/.zfunc/_cudnn-guard\n  \
             mkdir -p ~/.config/fish/completions && cudnn-guard completions fish > ~/.config/fish/completions/cudnn-guard.fish\n\n\
             zsh reads ~/.zfunc if ~/.zshrc contains `fpath+=~/.zfunc` before `compinit`. For elvish and PowerShell, load \
             the script in the configuration file of the shell.")
        .arg(
            terminal::operand("shell", "SHELL", "Shell to generate completions for")
                .required(true)
                .value_parser(value_parser!(Shell)),
        )
}

pub fn run(arguments: &ArgMatches) -> ExitCode {
    let shell = arguments.get_one::<Shell>("shell").expect("required");
    // `explain` also accepts messages, so its help does not list the ids.
    let mut program = command_line().mut_subcommand("explain", |explain| {
        let ids = page::all().map(|(id, _)| PossibleValue::new(id));
        explain.mut_arg("id", |arg| arg.value_parser(Vec::from_iter(ids)))
    });
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut program, "cudnn-guard", &mut script);
    terminal::show(String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
