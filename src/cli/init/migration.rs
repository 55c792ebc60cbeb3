//! The calls of cudnn-guard that replace those of another tool in a build script, from docs/migration.md.

use crate::model::pattern;
use regex_lite::escape;
use std::path::Path;

const PAGE: &str = include_str!("../../../docs/migration.md");

/// The sections of docs/migration.md, each with a text that every script contains to which it applies.
const TOOLS: [(&str, &str); 5] = [
    ("cudaforge", "cudaforge"),
    ("bindgen_cuda", "bindgen_cuda"),
    ("cc", ".cuda(true)"),
    ("nvcc", "\"nvcc\""),
    ("fixed paths", ""),
];

/// Formats the rows of the sections that apply to a script. Empty if none does.
pub fn text(script: &str, path: &Path) -> String {
    let lines = (1..).zip(script.lines());
    let is_code = |(_, line): &(usize, &str)| !line.trim_start().starts_with("//");
    let code: Vec<(usize, &str)> = lines.filter(is_code).collect();
    let mut text = String::new();
    for (tool, mark) in TOOLS {
        let is_used = code.iter().any(|(_, line)| line.contains(mark));
        let rows = rows(tool, &code);
        let Some(first) = rows.iter().map(|(line, _)| line).min().filter(|_| is_used) else {
            continue;
        };
        text += &format!(
            "{}:{first}: this script uses {tool}, and init does not change these calls. The equivalent calls of \
             cudnn-guard, from docs/migration.md, belong in the new block:\n\n",
            path.display()
        );
        for (line, row) in &rows {
            text += &format!("  line {line}: {row}\n");
        }
        text += "\nFor differences that a successful build does not show, see \"What changes silently\" in docs/migration.md.\n";
    }
    text
}

/// Returns the rows of a tool's table whose options occur in the code, with the first line in which they do.
fn rows(tool: &str, code: &[(usize, &str)]) -> Vec<(usize, String)> {
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
        rows.extend(
            used.next()
                .map(|(line, _)| (*line, format!("{option}\n    {here}"))),
        );
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
            if word.starts_with('-') {
                words.push(word.split('=').next().unwrap_or_default());
            } else if ["/", "rustc-", "rerun-"]
                .iter()
                .any(|start| word.starts_with(start))
            {
                words.push(word);
            }
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
