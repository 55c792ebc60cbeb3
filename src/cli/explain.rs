//! `cudnn-guard explain`: explains a finding or a message, how to check it by hand, and how to fix it.

use crate::cli::known_messages::{Explanation, explanations};
use crate::cli::{log, page, terminal};
use crate::report::json::texts;
use crate::report::layout::wrapped;
use crate::runtime::facts::Json;
use crate::runtime::report::json_members::document;
use crate::system::files;
use crate::{FindingId, Verdict};
use clap::{ArgMatches, Command};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

/// The number of bytes of messages in standard input, and at its end, that are explained.
const MOST_INPUT: usize = 4 << 20;

pub fn command() -> Command {
    let help = "Finding id, as shown in brackets after a headline, or a message [default: the messages on standard \
                input, or a list of all findings]";
    Command::new("explain")
        .about(
            "Explain a finding or a message: what it means, how to confirm it, and how to fix it",
        )
        .after_help(
            "Exit codes:\n  0   explained\n  2   unknown id or messages, or invalid command line\n\n\
             Examples:\n  \
             cudnn-guard explain cudnn-not-found no-gpu\n  \
             cudnn-guard explain \"CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH\"\n  \
             cargo build 2>&1 | cudnn-guard explain\n\n\
             Lines that a terminal wrapped are joined, but only in the last 4 MiB of a log.",
        )
        // CMake begins its messages with hyphens.
        .arg(terminal::operand("id", "ID", help).allow_hyphen_values(true).index(1))
        .arg(terminal::operand("more", "MORE", "More ids or messages").num_args(0..).index(2))
        .arg(terminal::json())
}

/// The pages of findings and the explanations of messages, with their text for a terminal.
#[derive(Default)]
struct Explained {
    pages: Vec<(&'static str, &'static str)>,
    matches: Vec<Explanation>,
    text: String,
}

/// Prints the page of a finding, the explanations of messages, or the list. Exit code: 2 if nothing is known.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let values = |name| arguments.get_many::<String>(name).unwrap_or_default();
    let words: Vec<&String> = values("id").chain(values("more")).collect();
    let (explained, error) = match words[..] {
        [first, ..] if first != "-" => explain_all(&words),
        _ => match input().map(|text| explain_messages(&text, false)) {
            Some(Ok(explained)) => (explained, None),
            Some(Err(error)) => (Explained::default(), Some(error)),
            None => (list(), None),
        },
    };
    let json = explained.to_json();
    terminal::show(terminal::form(arguments, json, explained.text));
    error.map_or(ExitCode::SUCCESS, |error| terminal::refuse(2, error))
}

impl Explained {
    /// Returns the JSON. Nothing on this machine was checked: it has no findings, and the verdict is unknown.
    fn to_json(&self) -> String {
        let members = vec![
            ("pages", Json::list(&self.pages, page_json)),
            ("matches", Json::list(&self.matches, match_json)),
        ];
        document("explain", Verdict::Unknown, members, &[])
    }
}

fn page_json((id, text): &(&str, &str)) -> Json {
    Json::object(&[("id", Json::text(id)), ("text", Json::text(text))])
}

fn match_json(explanation: &Explanation) -> Json {
    Json::object(&[
        ("line", Json::text(&explanation.line)),
        ("id", Json::optional(explanation.finding)),
        ("cause", Json::text(&explanation.cause)),
        ("help", texts(&[&explanation.help])),
    ])
}

/// Returns what is known about the arguments, and the errors about the others.
fn explain_all(arguments: &[&String]) -> (Explained, Option<String>) {
    let (mut all, mut errors) = (Explained::default(), None::<String>);
    for argument in arguments {
        match explain_argument(argument) {
            Ok(one) => {
                let gap = if all.text.is_empty() { "" } else { "\n" };
                all.text += &format!("{gap}{}", one.text);
                all.pages.extend(one.pages);
                all.matches.extend(one.matches);
            }
            Err(error) => *errors.get_or_insert_default() += &error,
        }
    }
    (all, errors)
}

fn explain_argument(argument: &str) -> Result<Explained, String> {
    let word = argument.trim_matches(['[', ']']).to_ascii_lowercase();
    if let Some(page) = page_of(&word) {
        return Ok(Explained {
            pages: vec![page],
            text: page_text(page),
            ..Explained::default()
        });
    }
    // Ids contain lowercase letters and hyphens.
    let is_message = word.is_empty()
        || argument.contains(|c: char| !c.is_ascii_lowercase() && !"-[]".contains(c));
    if is_message && similar_ids(&word).is_empty() {
        return explain_messages(argument, true);
    }
    Err(unknown(&word))
}

/// Explains the messages in a text. A page follows if `with_page` is set and one finding explains them all.
fn explain_messages(text: &str, with_page: bool) -> Result<Explained, String> {
    if text.trim().is_empty() {
        return Err("there is no message to explain: the input is empty\n  \
             = help: run `cudnn-guard explain \"MESSAGE\"`, or pipe the output of the command that failed\n"
            .to_string());
    }
    let matches = explanations(text);
    if matches.is_empty() {
        let subject = match text.trim().lines().count() {
            1 => "this message",
            _ => "these messages",
        };
        return Err(format!(
            "nothing is known about {subject}\n  \
             = help: run `cudnn-guard doctor` to check this machine\n  \
             = help: run `cudnn-guard inspect PROGRAM` to check a program that fails to start\n"
        ));
    }
    let ids = matches.iter().filter_map(|it| it.finding);
    let pages: Vec<_> = ids.filter_map(page_of).collect();
    let page = pages.first().filter(|_| with_page && matches.len() == 1);
    let blocks = matches.iter().map(|it| block(it, page.is_none()));
    let blocks: Vec<String> = blocks.collect();
    let page = page.map(|page| format!("\n{}", page_text(*page)));
    let text = blocks.join("\n") + &page.unwrap_or_default();
    Ok(Explained {
        pages,
        matches,
        text,
    })
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

/// Returns the part of standard input that may be explained. Returns `None` if standard input is a terminal, closed or
/// `/dev/null`.
fn input() -> Option<String> {
    let stdin = io::stdin().lock();
    if stdin.is_terminal() {
        return None;
    }
    let (text, are_more) = log::read(stdin, MOST_INPUT);
    if are_more {
        terminal::show_on_stderr(
            "only the first messages of the input and its last 4 MiB are explained\n",
        );
    }
    let stdin = files::canonical(Path::new("/dev/stdin"), None);
    (!stdin.is_ok_and(|file| file == Path::new("/dev/null"))).then_some(text)
}

fn page_of(word: &str) -> Option<(&'static str, &'static str)> {
    page::all().find(|(id, _)| *id == word)
}

fn page_text((id, text): (&str, &str)) -> String {
    terminal::heading(id) + &page::wrap(text, terminal::columns())
}

fn list() -> Explained {
    let columns = terminal::message_columns();
    let widest = page::all().map(|(id, _)| id.len()).max().unwrap_or(0);
    let lines = page::all().map(|(id, text)| {
        let summary = text.lines().next().unwrap_or_default();
        let summary = wrapped(summary, widest + 2, columns);
        format!("{id:widest$}  {summary}\n")
    });
    Explained {
        pages: page::all().collect(),
        matches: Vec::new(),
        text: lines.collect(),
    }
}

fn unknown(word: &str) -> String {
    let mut text = format!("unknown finding `{word}`\n");
    for id in similar_ids(word) {
        text.push_str(&format!("  = help: run `cudnn-guard explain {id}`\n"));
    }
    text + "  = help: run `cudnn-guard explain` for a list of all findings\n"
}

/// Returns similar ids: the one with almost the same spelling, and those that contain the word.
fn similar_ids(word: &str) -> Vec<&'static str> {
    let near = FindingId::similar(word);
    let is_part = |id: &&str| word.len() > 2 && id.contains(word) && near != Some(*id);
    let parts = page::all().map(|(id, _)| id).filter(is_part);
    near.into_iter().chain(parts).take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::similar_ids;
    use crate::runtime::facts::nearest::{edits, nearest};

    #[test]
    fn edits_are_counted() {
        for (one, other, letters) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("no-gpu", "no-gpus", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edits(one, other), letters, "{one} {other}");
        }
    }

    #[test]
    fn a_word_with_few_edits_is_suggested() {
        let known = ["sm_80", "sm_90", "hopper"];
        assert_eq!(nearest("sm_90x", &known), Some("sm_90"));
        assert_eq!(nearest("apa", &["App"]), None);
        assert_eq!(nearest("gema.cu", &["Gemm.cu"]), Some("Gemm.cu"));
        assert_eq!(nearest("Hoper", &known), Some("hopper"));
        assert_eq!(nearest("sm_70", &known), Some("sm_80"), "the first");
        for far in ["", "sm", "8x", "hops"] {
            assert_eq!(nearest(far, &known), None, "{far}");
        }
    }

    #[test]
    fn the_nearest_id_comes_first() {
        assert_eq!(similar_ids("cudnn-not-fond"), ["cudnn-not-found"]);
        assert_eq!(
            similar_ids("found")[..2],
            ["cuda-not-found", "cudnn-not-found"]
        );
        assert_eq!(similar_ids("aborted"), ["cudnn-aborted"]);
        assert_eq!(similar_ids("driver-to-old"), ["driver-too-old"]);
        assert!(similar_ids("x").is_empty());
        assert!(similar_ids("").is_empty());
    }
}
