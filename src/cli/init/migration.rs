//! The calls of cudnn-guard that replace those of another tool in a build script, from docs/migration.md.

use crate::cli::init::recipe;
use crate::model::pattern;
use regex_lite::escape;
use std::path::Path;

const PAGE: &str = include_str!("../../../docs/migration.md");

/// The tools that compile kernels in build scripts: the name, a text that every script with the tool contains, and the
/// call that begins a compilation.
const TOOLS: [(&str, &str, &str); 4] = [
    ("cudaforge", "cudaforge", "KernelBuilder::new("),
    ("bindgen_cuda", "bindgen_cuda", "Builder::default("),
    ("cc", ".cuda(true)", ".cuda(true)"),
    ("nvcc", "\"nvcc\"", "\"nvcc\""),
];

/// A row of a table that applies to a script.
#[derive(Debug, PartialEq)]
struct Row {
    /// The line of the script that uses the option first.
    line: usize,
    option: String,
    here: String,
}

/// The kernels that a script compiles with another tool.
pub struct Kernels {
    tool: &'static str,
    line: usize,
    rows: Vec<Row>,
}

/// Returns `None` if the script uses none of the tools.
pub fn find(script: &str) -> Option<Kernels> {
    let lines = (1..).zip(script.lines());
    let is_code = |(_, line): &(usize, &str)| !line.trim_start().starts_with("//");
    let code: Vec<(usize, &str)> = lines.filter(is_code).collect();
    let first = |text: &str| code.iter().find(|(_, line)| line.contains(text));
    let is_used = |(_, mark, _): &(&str, &str, &str)| first(mark).is_some();
    let (tool, mark, start) = TOOLS.into_iter().find(is_used)?;
    let (line, _) = first(start).or(first(mark))?;
    Some(Kernels {
        tool,
        line: *line,
        rows: rows(tool, &code),
    })
}

impl Kernels {
    /// Formats the place of the kernels, the rows, and for a script without a guard the lines around the calls.
    pub fn text(&self, path: &Path, has_guard: bool) -> String {
        let mut text = format!(
            "{}:{}: this script compiles kernels with {}, and init does not change these calls. The equivalent calls of \
             cudnn-guard, from docs/migration.md:\n\n",
            path.display(),
            self.line,
            self.tool
        );
        for Row { line, option, here } in &self.rows {
            text += &format!("  line {line}: {option}\n    {here}\n");
        }
        if !has_guard {
            text += &format!(
                "\nThese calls belong in a block like this:\n\n{}",
                recipe::KERNELS.build()
            );
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
/// values, and directives.
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
    let end = if is_open { "" } else { r"(?:[^\w-]|$)" };
    pattern(&format!(r"(?:^|\W){}{end}", escape(word))).is_match(line)
}

#[cfg(test)]
mod tests;
