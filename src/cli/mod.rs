//! The terminal program.

mod completions;
mod doctor;
mod explain;
pub(crate) mod fetch;
pub(crate) mod init;
mod inspect;
mod known_messages;
mod log;
mod manual;
mod message_parts;
mod numbers;
mod page;
mod run;
mod targets;
mod terminal;
mod whole_file;

use clap::{ArgMatches, Command};
use std::process::ExitCode;

/// A command line, and the function that runs it.
type Subcommand = (fn() -> Command, fn(&ArgMatches) -> ExitCode);

/// The subcommands, in the order of the help.
const COMMANDS: &[Subcommand] = &[
    (doctor::command, doctor::run),
    (inspect::command, inspect::run),
    (run::command, run::run),
    (explain::command, explain::run),
    (targets::command, targets::run),
    (init::command, init::run),
    (fetch::command, fetch::run),
    (completions::command, completions::run),
    (manual::command, manual::run),
];

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    let matches = command_line().try_get_matches();
    let matches = matches.unwrap_or_else(|error| terminal::exit_with(&error));
    terminal::set_color(&matches);
    for (command, run) in COMMANDS {
        if let Some(arguments) = matches.subcommand_matches(command().get_name()) {
            return run(arguments);
        }
    }
    ExitCode::from(2)
}

fn command_line() -> Command {
    Command::new("cudnn-guard")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Find CUDA and cuDNN, and diagnose incompatible versions")
        .after_help(
            "Exit codes:\n  0   no problems\n  1   problems found\n  2   invalid command line\n\nExamples:\n  cudnn-guard doctor\n  cudnn-guard inspect target/release/app",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .term_width(terminal::columns())
        .arg(terminal::color())
        .subcommands(COMMANDS.iter().map(|(command, _)| command()))
}

#[cfg(test)]
mod tests {
    mod reference;

    use super::command_line;

    /// Splits an example into words like a shell.
    fn words(line: &str) -> Vec<String> {
        let line = line.split(" > ").next().unwrap_or_default();
        let mut words = Vec::new();
        for (index, piece) in line.split('"').enumerate() {
            match index % 2 {
                0 => words.extend(piece.split_whitespace().map(String::from)),
                _ => words.push(piece.to_string()),
            }
        }
        words
    }

    #[test]
    fn every_command_has_a_valid_example() {
        for command in command_line().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            let own = format!("  cudnn-guard {}", command.get_name());
            // `mkdir -p DIR && cudnn-guard ..`
            let lines = help.replace(" && ", "\n  ");
            let examples: Vec<&str> = lines
                .lines()
                .filter(|line| line.starts_with(&own))
                .collect();
            assert!(!examples.is_empty(), "{}", command.get_name());
            for example in examples {
                match command_line().try_get_matches_from(words(example)) {
                    Ok(_) => {}
                    // The files and directories in the example do not exist.
                    Err(error) => {
                        let error = error.to_string();
                        assert!(error.contains("there is no such "), "{example}: {error}");
                    }
                }
            }
        }
    }
}
