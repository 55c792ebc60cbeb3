//! `cudnn-guard completions`: prints a script for a shell, which runs this command again to complete a line.

use crate::cli::{command_line, page, terminal};
use clap::builder::{PossibleValue, StyledStr};
use clap::{Arg, ArgMatches, Command};
use std::process::ExitCode;

/// The shells, and their scripts.
const SHELLS: [(&str, &str); 6] = [
    ("bash", include_str!("completions/bash")),
    ("elvish", include_str!("completions/elvish")),
    ("fish", include_str!("completions/fish")),
    ("nushell", include_str!("completions/nushell")),
    ("powershell", include_str!("completions/powershell")),
    ("zsh", include_str!("completions/zsh")),
];

pub fn command() -> Command {
    Command::new("completions")
        .about("Generate shell completions")
        .after_help("Examples:\n  mkdir -p ~/.local/share/bash-completion/completions && cudnn-guard completions bash > ~/.local/share/bash-completion/completions/cudnn-guard\n  \
             mkdir -p ~/.zfunc && cudnn-guard completions zsh > ~/.zfunc/_cudnn-guard\n  \
             mkdir -p ~/.config/fish/completions && cudnn-guard completions fish > ~/.config/fish/completions/cudnn-guard.fish\n\n\
             zsh reads ~/.zfunc if ~/.zshrc contains `fpath+=~/.zfunc` before `compinit`. For elvish, nushell and \
             PowerShell, load the script in the configuration file of the shell.")
        .arg(
            terminal::operand("shell", "SHELL", "Shell to generate completions for")
                .required(true)
                .value_parser(SHELLS.map(|(shell, _)| shell)),
        )
        .arg(terminal::operand("words", "WORD", "").last(true).num_args(1..).hide(true))
}

/// Prints the script, or the candidates for the last word if a script passes words.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let shell = arguments.get_one::<String>("shell").expect("required");
    let Some(words) = arguments.get_many::<String>("words") else {
        let script = SHELLS.iter().find(|(name, _)| name == shell);
        terminal::show(script.map_or("", |(_, script)| script));
        return ExitCode::SUCCESS;
    };
    let words: Vec<&str> = words.map(String::as_str).collect();
    for (word, help) in candidates(&words) {
        terminal::show(match &**shell {
            "bash" => format!("{word}\n"),
            _ => format!("{word}\t{help}\n"),
        });
    }
    ExitCode::SUCCESS
}

/// Returns the words that can replace the last one, each with its help. If there are none, the shell completes file
/// names.
fn candidates(words: &[&str]) -> Vec<(String, String)> {
    let Some((current, before)) = words.split_last() else {
        return Vec::new();
    };
    // PowerShell passes a space if the word is empty.
    let current = current.trim_start();
    let mut root = command_line().mut_subcommand("explain", |explain| {
        let id = |(id, text): (&'static str, &'static str)| {
            PossibleValue::new(id).help(text.lines().next().unwrap_or_default())
        };
        explain.mut_arg("id", |arg| {
            arg.value_parser(Vec::from_iter(page::all().map(id)))
        })
    });
    root.build();
    let (mut command, mut option, mut operands) = (&root, None, 0);
    // bash passes the `=` of an option as a word.
    for word in before.iter().filter(|word| **word != "=") {
        if option.take().is_some() {
            continue;
        } else if word.starts_with('-') {
            option = with_value(command, word);
        } else if let Some(subcommand) = command.find_subcommand(word) {
            command = subcommand;
        } else {
            operands += 1;
        }
    }
    let mut positionals = command.get_positionals();
    if operands > 0 && positionals.any(Arg::is_trailing_var_arg_set) {
        return Vec::new();
    }
    // `--color=al`, `curand,cu`: the end is completed.
    let (start, end) = current.split_at(current.rfind(['=', ',']).map_or(0, |at| at + 1));
    let named = start.split_once('=');
    let option = option.or_else(|| with_value(command, named?.0));
    let operand = command.get_positionals().nth(operands);
    let mut all: Vec<(String, Option<StyledStr>)> = Vec::new();
    let has_operand = operand.is_some() || command.has_subcommands();
    if option.is_none() && (current.starts_with('-') || !has_operand) {
        let named = command.get_arguments().filter(|arg| !arg.is_hide_set());
        all.extend(
            named.filter_map(|arg| {
                Some((format!("--{}", arg.get_long()?), arg.get_help().cloned()))
            }),
        );
    } else if option.is_none() && command.has_subcommands() {
        let commands = command.get_subcommands();
        all.extend(commands.map(|one| (one.get_name().into(), one.get_about().cloned())));
    } else if let Some(arg) = option.or(operand) {
        let values = arg.get_possible_values().into_iter();
        all.extend(values.map(|one| (one.get_name().into(), one.get_help().cloned())));
    }
    let one_line = |help: StyledStr| help.to_string().replace('\n', " ");
    let is_new = |word: &str| !start.split([',', '=']).any(|one| one == word);
    let matching = all.into_iter();
    let matching = matching.filter(|(word, _)| word.starts_with(end) && is_new(word));
    let found = matching.map(|(word, help)| {
        (
            format!("{start}{word}"),
            help.map_or(String::new(), one_line),
        )
    });
    found.collect()
}

/// Returns the option with this name, `--package` or `-p`, if a value follows it.
fn with_value<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let mut options = command.get_opts();
    options.find(|option| match name.strip_prefix("--") {
        Some(long) => option.get_long() == Some(long),
        None => option
            .get_short()
            .is_some_and(|short| name == format!("-{short}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn completes(line: &str, expected: &[&str]) {
        let words: Vec<&str> = line.split(' ').collect();
        let found: Vec<String> = candidates(&words)
            .into_iter()
            .map(|(word, _)| word)
            .collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn words_are_completed_by_their_place() {
        completes("doc", &["doctor"]);
        completes("help do", &["doctor"]);
        completes("fetch --che", &["--check"]);
        completes("explain cudnn-not-f", &["cudnn-not-found"]);
        completes("--color never explain no-g", &["no-gpu"]);
        completes(
            "completions ",
            &["bash", "elvish", "fish", "nushell", "powershell", "zsh"],
        );
        completes("doctor --link r", &["runtime"]);
        completes("fetch --with cus", &["cusparse", "cusolver"]);
        completes("fetch --with curand,cuf", &["curand,cufft"]);
        completes("doctor --color=al", &["--color=always"]);
        completes("doctor --color = al", &["always"]);
        completes(
            "fetch --with curand,cu",
            &[
                "curand,cufft",
                "curand,cusparse",
                "curand,cusolver",
                "curand,cutlass",
            ],
        );
        let doctor = [
            "--json",
            "--markdown",
            "--redact",
            "--root",
            "--target",
            "--link",
            "--cuda",
            "--cudnn",
            "--color",
            "--help",
        ];
        completes("doctor ", &doctor);
        completes("doctor --json ", &doctor);
        // `app` is the value of `-p`, and the program's options are its own.
        completes("explain -x cudnn-not-f", &["cudnn-not-found"]);
        for line in ["init -p app ", "run ./app --", "run ./app --color "] {
            completes(line, &[]);
        }
        // File names, which the shell completes.
        for line in [
            "inspect ",
            "inspect a",
            "run ",
            "run ./app ",
            "run ./app doc",
            "fetch --to ",
            "inspect --root ",
        ] {
            completes(line, &[]);
        }
        completes("completions bash ", &[]);
    }

    #[test]
    fn the_help_of_a_candidate_is_one_line() {
        for line in [&[""][..], &["doctor", "--"], &["explain", ""]] {
            let found = candidates(line);
            assert!(found.len() > 5, "{line:?}");
            for (word, help) in found {
                let is_line = !help.is_empty() && !help.contains(['\n', '\t']);
                assert!(is_line, "{word}: {help:?}");
            }
        }
    }
}
