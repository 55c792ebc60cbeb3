//! `cudnn-guard explain`: explains a finding or a message, how to check it by hand, and how to fix it.

use crate::cli::known_messages::{Explanation, explanations};
use crate::cli::{page, terminal};
use crate::report::layout::wrapped;
use clap::{ArgMatches, Command};
use std::io::{self, IsTerminal, Read};
use std::process::ExitCode;
use strsim::levenshtein;

/// The number of bytes at the end of standard input that are explained.
const MOST_INPUT: u64 = 4 << 20;

pub fn command() -> Command {
    let help = "Finding id, as shown in brackets after a headline, or a message [default: the messages on standard \
                input, or a list of all findings]";
    Command::new("explain")
        .about(
            "Explain a finding or a message: what it means, how to confirm it, and how to fix it",
        )
        .after_help(
            "Exit codes: 0 explained, 2 unknown id or messages\n\n\
             Examples:\n  \
             cudnn-guard explain cudnn-not-found\n  \
             cudnn-guard explain \"CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH\"\n  \
             cargo build 2>&1 | cudnn-guard explain",
        )
        .arg(terminal::operand("id", "ID", help))
}

/// Prints the page of a finding, the explanations of messages, or the list. Exit code: 2 if nothing is known.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    match arguments.get_one::<String>("id") {
        Some(argument) => explain_argument(argument),
        None => match input() {
            Some(text) => explain_messages(&text, false),
            None => {
                terminal::show(list());
                ExitCode::SUCCESS
            }
        },
    }
}

fn explain_argument(argument: &str) -> ExitCode {
    let word = argument.trim_matches(['[', ']']).to_ascii_lowercase();
    if let Some(page) = page_of(&word) {
        terminal::show(page);
        return ExitCode::SUCCESS;
    }
    // Ids do not contain these characters, but messages do.
    let is_message = argument.contains(|c: char| c.is_whitespace() || "_.:/\\\"'`".contains(c));
    if is_message && nearest(&word).is_empty() {
        return explain_messages(argument, true);
    }
    terminal::show_on_stderr(unknown(&word));
    ExitCode::from(2)
}

/// Explains the messages in a text. A page follows if `with_page` is set and one finding explains them all.
fn explain_messages(text: &str, with_page: bool) -> ExitCode {
    let found = explanations(text);
    if found.is_empty() {
        let subject = match text.trim().lines().count() {
            1 => "this message",
            _ => "these messages",
        };
        terminal::show_on_stderr(format!(
            "nothing is known about {subject}\n  \
             = help: run `cudnn-guard doctor` to check this machine\n  \
             = help: run `cudnn-guard inspect PROGRAM` to check a program that fails to start\n"
        ));
        return ExitCode::from(2);
    }
    let page = match &*found {
        [only] if with_page => only.finding.and_then(page_of),
        _ => None,
    };
    let blocks: Vec<String> = found.iter().map(|it| block(it, page.is_none())).collect();
    let page = page.map(|page| format!("\n{page}")).unwrap_or_default();
    terminal::show(blocks.join("\n") + &page);
    ExitCode::SUCCESS
}

fn block(explanation: &Explanation, with_pointer: bool) -> String {
    let columns = terminal::columns();
    let cause = wrapped(&explanation.cause, 2, columns);
    let help = wrapped(&explanation.help, 10, columns);
    let mut block = format!("{}\n  {cause}\n  = help: {help}\n", explanation.line);
    if let Some(id) = explanation.finding.filter(|_| with_pointer) {
        block += &format!("  see         cudnn-guard explain {id}\n");
    }
    block
}

/// Returns the end of standard input, where a failed program prints the reason. Returns `None` if standard input is a
/// terminal, closed or empty.
fn input() -> Option<String> {
    let mut stdin = io::stdin().lock();
    if stdin.is_terminal() {
        return None;
    }
    let (mut bytes, mut is_cut) = (Vec::new(), false);
    // The bytes before a read error are explained.
    while let Ok(1..) = stdin.by_ref().take(MOST_INPUT).read_to_end(&mut bytes) {
        let before = bytes.len().saturating_sub(MOST_INPUT as usize);
        bytes.drain(..before);
        is_cut |= before > 0;
    }
    if is_cut {
        terminal::show_on_stderr("only the last 4 MiB of the input are explained\n");
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.trim().is_empty()).then_some(text)
}

fn page_of(word: &str) -> Option<String> {
    let (id, text) = page::all().find(|(id, _)| *id == word)?;
    let text = page::wrap(text, terminal::columns());
    Some(terminal::heading(id) + &text)
}

fn list() -> String {
    let widest = page::all().map(|(id, _)| id.len()).max().unwrap_or(0);
    let lines = page::all().map(|(id, text)| {
        let summary = text.lines().next().unwrap_or_default();
        format!("{id:widest$}  {summary}\n")
    });
    lines.collect()
}

fn unknown(word: &str) -> String {
    let mut text = format!("unknown finding `{}`\n", terminal::harmless(word));
    for id in nearest(word) {
        text.push_str(&format!("  = help: run `cudnn-guard explain {id}`\n"));
    }
    text + "  = help: run `cudnn-guard explain` for a list of all findings\n"
}

/// Returns similar ids: with almost the same spelling, or containing the word.
fn nearest(word: &str) -> Vec<&'static str> {
    let allowed = word.chars().count() / 4;
    let part = word.len() > 2;
    let mut near: Vec<(usize, &str)> = page::all()
        .map(|(id, _)| (levenshtein(word, id), id))
        .filter(|(distance, id)| *distance <= allowed || (part && id.contains(word)))
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(3).map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_levenshtein_distance_counts_edits() {
        for (one, other, letters) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("no-gpu", "no-gpus", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(levenshtein(one, other), letters, "{one} {other}");
        }
    }

    #[test]
    fn the_nearest_id_comes_first() {
        assert_eq!(
            nearest("cudnn-not-fond"),
            ["cudnn-not-found", "cuda-not-found"]
        );
        assert_eq!(nearest("aborted"), ["cudnn-aborted"]);
        assert_eq!(nearest("driver-to-old"), ["driver-too-old"]);
        assert!(nearest("x").is_empty());
        assert!(nearest("").is_empty());
    }
}
