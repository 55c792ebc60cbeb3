//! The text after the options in a command's help, and the variables, for the man pages and docs/cli.md.

use clap::Command;

const SEARCHING: &str = include_str!("../../docs/searching.md");

/// Returns the paragraphs, one of which may be a list with a title.
pub fn paragraphs(command: &Command) -> Vec<String> {
    let text = command.get_after_help().map(ToString::to_string);
    let text = text.unwrap_or_default();
    text.split("\n\n").map(String::from).collect()
}

/// Returns the lines of the list with this title.
pub fn list(command: &Command, title: &str) -> Vec<String> {
    let all = paragraphs(command).into_iter();
    let mut lists = all.filter_map(|one| Some(one.strip_prefix(title)?.to_string()));
    let lines = lists.next().unwrap_or_default();
    let lines = lines.lines().skip(1);
    lines.map(|line| line.trim().to_string()).collect()
}

/// Returns the exit codes with their meanings. A command without its own has those of the program.
pub fn exit_codes(command: &Command, program: &Command) -> Vec<(String, String)> {
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
pub fn variables() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = SEARCHING.lines().filter(|line| line.starts_with("| "));
    rows.skip(1).filter_map(|row| {
        let (names, meaning) = row.split_once(" | ")?.1.split_once(" | ")?;
        Some((names, meaning.trim_end_matches(" |")))
    })
}

#[cfg(test)]
mod tests;
