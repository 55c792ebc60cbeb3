//! docs/cli.md is generated from the help.

use crate::cli::command_line;
use clap::{Arg, Command};
use std::fs;
use std::path::Path;

const SEARCHING: &str = include_str!("../../../docs/searching.md");

/// Returns the paragraphs, one of which may be a list with a title.
fn paragraphs(command: &Command) -> Vec<String> {
    let text = command.get_after_help().map(ToString::to_string);
    let text = text.unwrap_or_default();
    text.split("\n\n").map(String::from).collect()
}

/// Returns the lines of the list with this title.
fn list(command: &Command, title: &str) -> Vec<String> {
    let all = paragraphs(command).into_iter();
    let mut lists = all.filter_map(|one| Some(one.strip_prefix(title)?.to_string()));
    let lines = lists.next().unwrap_or_default();
    let lines = lines.lines().skip(1);
    lines.map(|line| line.trim().to_string()).collect()
}

/// Returns the exit codes with their meanings. A command without its own has those of the program.
fn exit_codes(command: &Command, program: &Command) -> Vec<(String, String)> {
    let own = list(command, "Exit codes:");
    let is_general = own.is_empty() && command.get_name() != program.get_name();
    if is_general {
        return exit_codes(program, program);
    }
    let code = |line: String| {
        let (code, meaning) = line.split_once(' ')?;
        Some((code.to_string(), meaning.trim().to_string()))
    };
    own.into_iter().filter_map(code).collect()
}

/// Returns the environment variables with their meanings, in Markdown.
fn variables() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = SEARCHING.lines().filter(|line| line.starts_with("| "));
    rows.skip(1).filter_map(|row| {
        let (names, meaning) = row.split_once(" | ")?.1.split_once(" | ")?;
        Some((names, meaning.trim_end_matches(" |")))
    })
}

const BEGINNING: &str = "\
# The command line

This page lists every command, option, exit code and variable of `cudnn-guard`. It is generated from the same source \
as `--help` and the man pages. \
The commands are:
";

/// Returns a text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// Returns the row of an argument.
fn row(arg: &Arg) -> String {
    let value = arg.get_value_names().map(|names| names[0].to_string());
    let short = arg.get_short();
    let short = short.map_or(String::new(), |short| format!("-{short}, "));
    let name = match (
        arg.get_long(),
        value.filter(|_| arg.get_action().takes_values()),
    ) {
        (Some(long), Some(value)) => format!("{short}--{long} {value}"),
        (Some(long), None) => format!("{short}--{long}"),
        (None, value) => value.unwrap(),
    };
    let mut help = cell(&arg.get_help().unwrap().to_string());
    let join = |words: Vec<String>| words.join("`, `");
    let default = arg
        .get_default_values()
        .iter()
        .map(|one| one.to_string_lossy().into_owned());
    let default: Vec<String> = default.collect();
    if arg.get_action().takes_values() && !default.is_empty() {
        help += &format!(" [default: `{}`]", join(default));
    }
    let values = arg.get_possible_values();
    let values: Vec<String> = values
        .iter()
        .map(|one| one.get_name().to_string())
        .collect();
    if arg.get_action().takes_values() && !values.is_empty() {
        help += &format!(" [possible values: `{}`]", join(values));
    }
    format!("| `{name}` | {help} |\n")
}

fn document() -> String {
    let mut program = command_line();
    program.build();
    let commands = program
        .get_subcommands()
        .filter(|one| one.get_name() != "help");
    let commands: Vec<&Command> = commands.collect();
    let mut out = BEGINNING.to_string() + "\n";
    for command in &commands {
        let name = command.get_name();
        out += &format!("- [{name}](#{name}): {}\n", command.get_about().unwrap());
    }
    let color = program
        .get_arguments()
        .find(|arg| arg.get_id() == "color")
        .unwrap();
    out += &format!(
        "\nEvery command has these options:\n\n| option | |\n|---|---|\n{}",
        row(color)
    );
    out += "| `-h, --help` | Print help |\n\n`cudnn-guard --version`, or `-V`, prints the version.\n\nExit codes of the commands that list no others:\n\n";
    let codes = |command: &Command| {
        let line = |(code, meaning): (String, String)| format!("- {code}: {meaning}\n");
        exit_codes(command, &program)
            .into_iter()
            .map(line)
            .collect::<String>()
    };
    let general = codes(&program);
    out += &general;
    for command in commands {
        let about = command.get_about().unwrap();
        out += &format!("\n## {}\n\n{about}.\n\n", command.get_name());
        for text in paragraphs(command)
            .iter()
            .filter(|text| !text.contains(":\n"))
        {
            out += &format!("{text}\n\n");
        }
        let is_shown =
            |arg: &&Arg| !arg.is_hide_set() && !["help", "color"].contains(&arg.get_id().as_str());
        out += "| argument | |\n|---|---|\n";
        out.extend(command.get_arguments().filter(is_shown).map(row));
        if codes(command) != general {
            out += &format!("\nExit codes:\n\n{}", codes(command));
        }
        out += &format!("\n```sh\n{}\n```\n", list(command, "Examples:").join("\n"));
    }
    out += "\n## Variables\n\nThe commands search like a build, so they read its variables too. Programs with a guard read those \
            of the guard. The table in [searching.md][variables] shows which variables a build reads and which a program reads.\n\n| variable | |\n|---|---|\n";
    for (names, meaning) in variables() {
        out += &format!("| {names} | {meaning} |\n");
    }
    out + "\n[guard]: guard.md\n[kernels]: kernels.md\n[variables]: searching.md#variables\n"
}

/// `BLESS=1` writes the document.
#[test]
fn the_document_has_every_command_option_and_variable() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, document()).unwrap();
    }
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text.replace("\r\n", "\n"), document());
}
