//! The parts of a command's help, for the man pages and docs/cli.md.

use clap::Command;

const SEARCHING: &str = include_str!("../../docs/searching.md");

/// The text after the options in a command's help.
pub struct Notes {
    /// Paragraphs.
    pub text: Vec<String>,
    /// Exit codes with their meanings.
    pub exit_codes: Vec<(String, String)>,
    pub examples: Vec<String>,
}

/// Splits the text after the options. A command without its own exit codes has those of the program.
pub fn notes(command: &Command, program: &Command) -> Notes {
    let [own, general] = [command, program].map(|one| {
        let text = one
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        text.split("\n\n").map(String::from).collect::<Vec<_>>()
    });
    let lines = |text: &[String], title: &str| {
        let mut parts = text
            .iter()
            .filter_map(|part| part.strip_prefix(title)?.strip_prefix('\n'));
        let lines = parts.next().unwrap_or_default().lines();
        lines
            .map(|line| line.trim().to_string())
            .collect::<Vec<_>>()
    };
    let mut codes = [lines(&own, "Exit codes:"), lines(&general, "Exit codes:")].into_iter();
    let codes = codes.find(|codes| !codes.is_empty()).unwrap_or_default();
    let code = |line: String| {
        let (code, meaning) = line.split_once("  ")?;
        Some((code.to_string(), meaning.trim().to_string()))
    };
    Notes {
        exit_codes: codes.into_iter().filter_map(code).collect(),
        examples: lines(&own, "Examples:"),
        text: own
            .into_iter()
            .filter(|part| !part.contains(":\n") && !part.is_empty())
            .collect(),
    }
}

/// Returns the environment variables with their meanings, in Markdown.
pub fn variables() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = SEARCHING
        .lines()
        .filter(|line| line.starts_with("| ") && !line.contains("| variable |"));
    rows.filter_map(|row| {
        let (names, meaning) = row.split_once(" | ")?.1.split_once(" | ")?;
        Some((names, meaning.trim_end_matches(" |")))
    })
}

#[cfg(test)]
mod tests;
