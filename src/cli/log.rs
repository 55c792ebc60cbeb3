//! The lines of a log that may be explained. A log of any size takes the same memory.

use crate::cli::{known_messages, message_parts};
use crate::runtime::facts::is_unprintable;
use regex::Regex;
use std::collections::BTreeSet;
use std::io::Read;

/// Reads a log. Returns the lines that a table may explain, each once, followed by the end of the log: a failed program
/// prints the reason there, and only there are wrapped lines joined. Each has at most `most` bytes. The second value is
/// `true` if more lines may be explained.
///
/// The bytes before a read error are explained.
pub fn read(mut log: impl Read, most: usize) -> (String, bool) {
    let (mut lines, mut end) = (None, Vec::new());
    while let Ok(1..) = log.by_ref().take(most as u64).read_to_end(&mut end) {
        let before = &end[..end.len().saturating_sub(most)];
        let newline = before.iter().rposition(|it| *it == b'\n');
        let before = newline.map_or(before.len(), |at| at + 1);
        if before > 0 {
            let text = String::from_utf8_lossy(&end[..before]);
            lines.get_or_insert_with(Lines::new).add(&text, most);
            end.drain(..before);
        }
    }
    let (text, are_more) = lines.map_or_else(Default::default, |it| (it.text, it.are_more));
    (text + &String::from_utf8_lossy(&end), are_more)
}

/// The lines that a table may explain.
struct Lines {
    /// Matches every line that a row of the table may explain.
    literal: Regex,
    known: BTreeSet<String>,
    text: String,
    are_more: bool,
}

impl Lines {
    fn new() -> Self {
        let literals = known_messages::all_literals();
        let literals: Vec<String> = literals.iter().map(|it| regex::escape(it)).collect();
        Lines {
            literal: Regex::new(&literals.join("|")).expect("a tested table"),
            known: BTreeSet::new(),
            text: String::new(),
            are_more: false,
        }
    }

    fn add(&mut self, text: &str, most: usize) {
        for line in plain(text).lines() {
            let may_match = || self.literal.is_match(line) || message_parts::is_message(line);
            if self.are_more || self.known.contains(line) || !may_match() {
                continue;
            }
            self.are_more = self.text.len() + line.len() > most;
            if !self.are_more {
                self.known.insert(line.to_string());
                self.text += &format!("{line}\n");
            }
        }
    }
}

/// Returns a text without colors and control characters, and with the quotes of the table: Rust's `Debug` escapes them,
/// and other programs print typographic ones.
pub fn plain(text: &str) -> String {
    let mut text = anstream::adapter::strip_str(text).to_string();
    text.retain(|c| "\n\t".contains(c) || !is_unprintable(c));
    text.replace("\\\"", "\"").replace(['‘', '’'], "'")
}

/// Returns the longest literal of each alternative of a pattern, outside of groups. Each match contains one of them.
pub fn literals(pattern: &str) -> Vec<String> {
    let (mut found, mut longest, mut literal) = (Vec::new(), String::new(), String::new());
    let mut depth = 0;
    // The last alternative ends like the others.
    let mut characters = pattern.chars().chain(['|']);
    while let Some(character) = characters.next() {
        let is_special = "()[{?*+.^$|".contains(character);
        if !is_special {
            let escaped = (character == '\\').then(|| characters.next());
            literal.extend(escaped.unwrap_or(Some(character)));
            continue;
        }
        if ['?', '*', '{'].contains(&character) {
            literal.pop(); // It may be absent.
        }
        if depth == 0 && literal.len() > longest.len() {
            std::mem::swap(&mut longest, &mut literal);
        }
        literal.clear();
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            '[' => _ = characters.find(|it| *it == ']'),
            '{' => _ = characters.find(|it| *it == '}'),
            '|' if depth == 0 => found.push(std::mem::take(&mut longest)),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{literals, plain, read};

    #[test]
    fn literals_are_in_every_match_of_a_pattern() {
        for (pattern, expected) in [
            ("no GPU", &["no GPU"][..]),
            ("^short, the longest$|else", &["short, the longest", "else"]),
            ("first? *second+third", &["second"]),
            (r"a.bcd[^ \\/]+efgh{2}ij", &["bcd"]),
            (r"\(a\)(?:group|(inner)|of)* after", &[" after"]),
            ("(only|groups)", &[""]),
        ] {
            assert_eq!(literals(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn a_line_of_another_program_cannot_move_the_cursor() {
        assert_eq!(plain("\ta\u{9b}2Jb\rc\u{202e}"), "\ta2Jbc");
    }

    #[test]
    fn messages_far_before_the_end_are_kept() {
        for (message, kept) in [
            ("cannot find -l\x1b[1mcudnn\x1b[0m", "cannot find -lcudnn\n"),
            (
                "Unable to load libcurand.so.10",
                "Unable to load libcurand.so.10\n",
            ),
            (
                r#"cannot open source file \"cuda_fp16.h\""#,
                "cannot open source file \"cuda_fp16.h\"\n",
            ),
            (
                "cc1plus: out of memory allocating 65536 bytes",
                "cc1plus: out of memory allocating 65536 bytes\n",
            ),
            ("note: curl downloads", ""),
        ] {
            let after = "warning: unused\n".repeat(100);
            for before in [0, 10, 100] {
                let message = format!("{message}\n").repeat(2);
                let log = "warning: unused\n".repeat(before) + &message + &after;
                let (text, are_more) = read(log.as_bytes(), 320);
                assert_eq!(text, kept.to_string() + &after[..320], "{before}");
                assert!(!are_more);
            }
        }
    }

    #[test]
    fn a_log_of_messages_is_kept_up_to_a_limit() {
        let messages = (0..1000).map(|it| format!("{it}: Unable to load libcurand.so.10\n"));
        let (text, are_more) = read(messages.collect::<String>().as_bytes(), 320);
        let kept: Vec<&str> = text.lines().collect();
        assert!(kept[0].starts_with("0: ") && kept.last().unwrap().starts_with("999: "));
        assert!(text.len() <= 3 * 320 && are_more, "{text}");
    }

    #[test]
    fn a_line_longer_than_the_limit_is_cut() {
        let log = "cannot find -lcudnn ".repeat(100);
        let (text, _) = read(log.as_bytes(), 320);
        assert!(text.contains("cannot find -lcudnn"), "{text}");
        assert!(text.len() <= 3 * 320, "{text}");
        assert_eq!(read(&b""[..], 320), (String::new(), false));
    }
}
