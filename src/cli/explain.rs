//! `cudnn-guard explain`: explains a finding, how to check it by hand, and how to fix it.

use crate::cli::{page, terminal};
use clap::{ArgMatches, Command};
use std::process::ExitCode;
use strsim::levenshtein;

pub fn command() -> Command {
    let help = "What stands in brackets behind the headline; without it, all are listed";
    Command::new("explain")
        .about("Tells what a finding means, how to see it by hand and how to mend it")
        .after_help("Example:\n  cudnn-guard explain cudnn-not-found")
        .arg(terminal::operand("id", "ID", help))
}

/// Prints one text, or the list. Exit code: 2 for an unknown id.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let Some(word) = arguments.get_one::<String>("id") else {
        terminal::show(list());
        return ExitCode::SUCCESS;
    };
    let word = word.trim_matches(['[', ']']).to_ascii_lowercase();
    match page::all().find(|(id, _)| *id == word) {
        Some((id, text)) => {
            let text = page::laid_out(text, terminal::columns());
            terminal::show(terminal::heading(id) + &text);
            ExitCode::SUCCESS
        }
        None => {
            terminal::show_on_stderr(unknown(&word));
            ExitCode::from(2)
        }
    }
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
    let mut text = format!("there is no finding `{}`\n", terminal::harmless(word));
    for id in nearest(word) {
        text.push_str(&format!("  = help: run `cudnn-guard explain {id}`\n"));
    }
    text + "  = help: run `cudnn-guard explain` to see all of them\n"
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
    fn letters_are_counted() {
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
    fn what_is_likely_meant_comes_first() {
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
