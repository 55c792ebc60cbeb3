//! The calls of cudnn-guard that replace those of another tool in a build script, from docs/migration.md.

use crate::model::pattern;
use regex_lite::escape;
use std::path::Path;

const PAGE: &str = include_str!("../../../docs/migration.md");

/// What build scripts compile kernels with, and where they search: the name, and a text that every such script contains.
const TOOLS: [(&str, &str); 5] = [
    ("cudaforge", "cudaforge"),
    ("bindgen_cuda", "bindgen_cuda"),
    ("cc", ".cuda(true)"),
    ("nvcc", "\"nvcc\""),
    ("fixed paths", ""),
];

/// A row of a table that applies to a script.
#[derive(Debug, PartialEq)]
struct Row {
    /// The line of the script that uses the option first.
    line: usize,
    option: String,
    here: String,
}

/// The rows of a tool that apply to a script.
pub struct Table {
    tool: &'static str,
    rows: Vec<Row>,
}

/// Returns the tables of the tools that a script uses.
pub fn find(script: &str) -> Vec<Table> {
    let lines = (1..).zip(script.lines());
    let is_code = |(_, line): &(usize, &str)| !line.trim_start().starts_with("//");
    let code: Vec<(usize, &str)> = lines.filter(is_code).collect();
    let mut tables = Vec::new();
    for (tool, mark) in TOOLS {
        if code.iter().any(|(_, line)| line.contains(mark)) {
            let rows = rows(tool, &code);
            tables.push(Table { tool, rows });
        }
    }
    tables.retain(|table| !table.rows.is_empty());
    tables
}

impl Table {
    /// Formats the place and the rows.
    pub fn text(&self, path: &Path) -> String {
        let first = self.rows.iter().map(|row| row.line).min();
        let mut text = format!(
            "{}:{}: this script uses {}, and init does not change these calls. The equivalent calls of cudnn-guard, from \
             docs/migration.md, belong in the new block:\n\n",
            path.display(),
            first.unwrap_or_default(),
            self.tool
        );
        for Row { line, option, here } in &self.rows {
            text += &format!("  line {line}: {option}\n    {here}\n");
        }
        text + "\nFor differences that a successful build does not show, see \"What changes silently\" in docs/migration.md.\n"
    }
}

/// Returns the rows of a tool's table whose options occur in the code.
fn rows(tool: &str, code: &[(usize, &str)]) -> Vec<Row> {
    let mut sections = PAGE.split("\n## ");
    let section = sections.find(|section| section.starts_with(&format!("From {tool} ")));
    let mut rows = Vec::new();
    for row in section.unwrap_or_default().lines() {
        // A `|` in a cell is escaped.
        let row = row.replace("\\|", "\0");
        let cells = row.split('|').map(|cell| cell.trim().replace('\0', "|"));
        let [_, option, here, ..] = &cells.collect::<Vec<_>>()[..] else {
            continue;
        };
        let words = words(option);
        let is_used = |line: &str| words.iter().any(|word| contains_word(line, word));
        let mut used = code.iter().filter(|(_, line)| is_used(line));
        if let Some((line, _)) = used.next() {
            rows.push(Row {
                line: *line,
                option: option.clone(),
                here: here.clone(),
            });
        }
    }
    rows
}

/// Returns the words by which a script uses the options in a cell: functions with their parenthesis, flags without their
/// values, directives and paths.
fn words(cell: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for code in cell.split('`').skip(1).step_by(2) {
        if let Some(end) = code.find('(') {
            words.push(&code[..=end]);
            continue;
        }
        for word in code.split(' ') {
            let end = match word {
                _ if word.starts_with('-') => word.find('='),
                _ if word.starts_with('/') => None,
                _ if word.starts_with("rustc-") || word.starts_with("rerun-") => word.find('/'),
                _ => continue,
            };
            words.push(&word[..end.unwrap_or(word.len())]);
        }
    }
    words
}

/// Returns `true` if a line contains this word, and not only as a part of another word. A value may follow the flags
/// with one capital letter directly.
fn contains_word(line: &str, word: &str) -> bool {
    let is_open = word.ends_with(['(', '=']) || ["-D", "-I", "-L"].contains(&word);
    let end = if is_open { "" } else { r"(?:[^\w/.-]|$)" };
    let word = escape(word).replace("local/cuda", r"local/cuda(?:-[\d.]+)?");
    pattern(&format!(r"(?:^|\W){word}{end}")).is_match(line)
}

#[cfg(test)]
mod tests;
