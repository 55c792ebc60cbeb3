//! Speaking to people: marks in colour, and nothing from the machine that moves the cursor.

use anstyle::{AnsiColor, Style};
use clap::{Arg, ArgAction};
use cudnn_guard::Verdict;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Prints a text. Marks behind two spaces at the beginning of a line are coloured where standard output is a
/// terminal that wants colours. A reader that has gone away is no error.
pub fn show(text: impl Display) {
    let mut out = anstream::stdout().lock();
    let _ = out.write_all(painted(&text.to_string()).as_bytes());
    let _ = out.flush();
}

/// Prints a text to standard error.
pub fn complain(text: impl Display) {
    let mut out = anstream::stderr().lock();
    let _ = out.write_all(text.to_string().as_bytes());
}

/// The argument by which a command speaks to programs.
pub fn json() -> Arg {
    Arg::new("json")
        .long("json")
        .action(ArgAction::SetTrue)
        .help("Print one JSON object")
}

/// What a command ends with: 1 if something is wrong.
pub fn exit(verdict: Verdict) -> ExitCode {
    ExitCode::from(u8::from(verdict == Verdict::Fail))
}

/// A line that stands above others.
pub fn heading(text: &str) -> String {
    let style = Style::new().bold();
    format!("{style}{text}{style:#}\n")
}

/// One line of another program, made harmless.
pub fn harmless(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).collect()
}

fn painted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let style = ["✓", "✗", "–"]
            .into_iter()
            .zip([AnsiColor::Green, AnsiColor::Red, AnsiColor::Yellow])
            .find_map(|(mark, color)| {
                let rest = line.strip_prefix("  ")?.strip_prefix(mark)?;
                Some((mark, Style::new().fg_color(Some(color.into())), rest))
            });
        match style {
            Some((mark, style, rest)) => {
                out.push_str(&format!("  {style}{mark}{style:#}{rest}"));
            }
            None => out.push_str(line),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_coloured_only_where_a_line_begins() {
        assert_eq!(
            painted("  ✗ nvcc ✗\n    ✗\n"),
            "  \u{1b}[31m✗\u{1b}[0m nvcc ✗\n    ✗\n"
        );
    }

    #[test]
    fn a_line_of_another_program_cannot_move_the_cursor() {
        assert_eq!(harmless("a\u{1b}[2Jb\rc"), "a[2Jbc");
    }
}
