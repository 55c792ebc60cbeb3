//! `cudnn-guard manual`: writes the pages for `man`.

use crate::cli::{command_line, terminal};
use clap::{ArgMatches, Command};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

pub fn command() -> Command {
    Command::new("manual")
        .about("Generate man pages")
        .after_help(
            "Examples:\n  cudnn-guard manual ~/.local/share/man/man1\n  man -M ~/.local/share/man cudnn-guard-doctor",
        )
        .arg(terminal::path("dir", "DIR", "Output directory").required(true))
}

/// Writes one page for the program and one for each command.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let dir = arguments.get_one::<PathBuf>("dir").expect("required");
    let command = command_line().disable_help_subcommand(true);
    let written = fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(command, dir));
    terminal::finish(written.map(|()| String::new()).map_err(|error| {
        format!(
            "cannot write man pages to `{}`: {error}\n  = help: choose a directory that you can write to\n",
            dir.display()
        )
    }))
}
