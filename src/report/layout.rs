//! The layout of reports in a terminal: marks, columns and line breaks.

use crate::runtime::facts::{Finding, printable};
use std::fmt::{self, Formatter};
use std::path::Path;

/// The default width of a terminal.
const COLUMNS: usize = 80;
/// The column of the text after mark and label.
pub(crate) const INDENT: usize = 14;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mark {
    Tick,
    /// An error is about it.
    Cross,
    /// A warning is about it.
    Warning,
    Note,
    /// Missing, but not required.
    Absent,
    /// Not checked.
    Unknown,
}

impl Mark {
    pub(crate) fn tick_if(is_known: bool) -> Self {
        if is_known { Mark::Tick } else { Mark::Unknown }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mark::Tick => "✓",
            Mark::Cross => "✗",
            Mark::Warning => "!",
            Mark::Note => "i",
            Mark::Absent => "–",
            Mark::Unknown => "?",
        })
    }
}

/// Returns the width in the format string, as in `{report:100}`. A path is never broken.
pub(crate) fn columns(f: &Formatter<'_>) -> usize {
    f.width().unwrap_or(COLUMNS)
}

pub(crate) fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// Breaks a text between words. Text between backticks counts as one word, so that it can be copied.
pub(crate) fn wrapped(text: &str, indent: usize, columns: usize) -> String {
    let mut is_quoted = false;
    let is_gap = |c: char| {
        is_quoted ^= c == '`';
        c == ' ' && !is_quoted
    };
    let words: Vec<&str> = text.split(is_gap).collect();
    pieces(&words, indent, columns)
}

/// Wraps sentences and findings. Commands, which are indented by four spaces or are evidence, are not broken.
#[cfg(feature = "cli")]
pub(crate) fn wrapped_lines(text: &str, columns: usize) -> String {
    const EVIDENCE: &str = "              ";
    let (mut out, mut is_command) = (String::new(), false);
    for line in text.split_inclusive('\n') {
        let is_more = line.starts_with(EVIDENCE);
        is_command = (is_command && is_more) || line.starts_with("  command ");
        let indent = match line {
            _ if is_command || (line.starts_with("    ") && !is_more) => None,
            _ if line.starts_with("  = help: ") => Some(10),
            _ if line.starts_with("  ") => Some(EVIDENCE.len()),
            _ => Some(0),
        };
        match indent.and_then(|indent| line.split_at_checked(indent)) {
            Some((start, rest)) => {
                out += &format!("{start}{}", wrapped(rest, start.len(), columns))
            }
            None => out += line,
        }
    }
    out
}

/// Writes one item of a report. A cross and an exclamation mark have their word at the end, for readers without the
/// marks.
pub(crate) fn row(f: &mut Formatter<'_>, mark: Mark, label: &str, text: &str) -> fmt::Result {
    let word = match mark {
        Mark::Cross => "  (error)",
        Mark::Warning => "  (warning)",
        _ => "",
    };
    writeln!(f, "  {mark} {label:<9} {text}{word}")
}

/// Writes a text below the item on the line above.
pub(crate) fn below(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    let text = wrapped(&printable(text), INDENT, columns(f));
    writeln!(f, "{:INDENT$}{text}", "")
}

/// Formats a finding whose first line is already indented: the headline, the help, and at most `most` lines of each
/// piece of evidence. A command in the evidence is not broken.
pub(crate) fn finding_text(finding: &Finding, most: usize, columns: usize) -> String {
    let headline = format!("{}: {}", finding.severity, finding.headline());
    let mut out = wrapped(&headline, 4, columns) + "\n";
    for help in &finding.help {
        let text = wrapped(&printable(help), INDENT, columns);
        out.push_str(&format!("      = help: {text}\n"));
    }
    for (label, value) in &finding.evidence {
        let count = value.lines().count();
        if count > most {
            out.push_str(&format!("      {label:<12}{count} lines, at the end\n"));
            continue;
        }
        for (index, line) in value.lines().enumerate() {
            let shown = if index == 0 { *label } else { "" };
            let text = match *label {
                "command" => printable(line),
                _ => wrapped(&printable(line), 20, columns),
            };
            out.push_str(&format!("      {shown:<12}{text}\n"));
        }
    }
    out
}

/// Joins pieces with spaces or line breaks. Lines after the first are indented. An empty piece is an additional space,
/// except at the end of a line.
pub(crate) fn pieces(pieces: &[&str], indent: usize, columns: usize) -> String {
    let mut out = String::new();
    let mut column = indent;
    for (index, piece) in pieces.iter().enumerate() {
        let width = piece.chars().count();
        if index > 0 && width > 0 && column + 1 + width > columns {
            out.truncate(out.trim_end().len());
            out.push('\n');
            out += &" ".repeat(indent);
            column = indent;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(piece);
        column += width;
    }
    out
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::wrapped_lines;

    #[test]
    fn the_lines_of_a_finding_are_wrapped_below_their_beginning() {
        let text = "one two three four five six  [io-error]\n  = help: run `a b c d e` to see more of it\n  \
                    found       one two three four\n              five six seven eight\n  \
                    command     one two three four\n              five six seven eight\n\n    export A=1 B=2 C=3 D=4 E=5\n";
        let expected = "one two three four five six\n[io-error]\n  = help: run `a b c d e` to\n          see more of it\n  \
                        found       one two three\n              four\n              five six seven\n              eight\n  \
                        command     one two three four\n              five six seven eight\n\n    export A=1 B=2 C=3 D=4 E=5\n";
        assert_eq!(wrapped_lines(text, 30), expected);
        assert_eq!(wrapped_lines(text, usize::MAX), text);
    }
}
