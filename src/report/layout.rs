//! How a report is laid out in a terminal: marks, columns, and where a line is broken.

use crate::runtime::facts::finding::{Finding, printable};
use std::fmt::{self, Formatter};
use std::path::Path;

/// The columns of a terminal whose width nobody tells.
const COLUMNS: usize = 80;
/// Where the text begins behind mark and label.
pub(crate) const INDENT: usize = 14;

/// What a line says of its thing.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mark {
    /// There, and it fits.
    Tick,
    /// It does not fit, or is needed and missing.
    Cross,
    /// Not known, or missing and not needed.
    Dash,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mark::Tick => "✓",
            Mark::Cross => "✗",
            Mark::Dash => "–",
        })
    }
}

/// Text is broken between words so as to stay within the width that is asked for: `{report:100}`. A path is never broken.
pub(crate) fn columns(f: &Formatter<'_>) -> usize {
    f.width().unwrap_or(COLUMNS)
}

pub(crate) fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// Text broken between words. What stands between backticks counts as one word, so that it can be copied in one piece.
pub(crate) fn wrapped(text: &str, indent: usize, columns: usize) -> String {
    let mut is_quoted = false;
    let words = text.split(|c: char| {
        is_quoted ^= c == '`';
        c == ' ' && !is_quoted
    });
    pieces(words, indent, columns)
}

/// A finding whose first line is indented already: its headline, the help, and of each piece of evidence at most so many
/// lines. A command of its evidence is not broken.
pub(crate) fn finding_text(finding: &Finding, most: usize, columns: usize) -> String {
    let mut out = wrapped(&finding.headline(), 4, columns) + "\n";
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

/// Pieces that are not broken, with spaces or line ends between them; the lines after the first are indented. An
/// empty piece is a further space, except where a line ends.
pub(crate) fn pieces<'a>(
    pieces: impl Iterator<Item = &'a str>,
    indent: usize,
    columns: usize,
) -> String {
    let mut out = String::new();
    let mut column = indent;
    for (index, piece) in pieces.enumerate() {
        let width = piece.chars().count();
        if index > 0 && width > 0 && column + 1 + width > columns {
            out.truncate(out.trim_end().len());
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
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
