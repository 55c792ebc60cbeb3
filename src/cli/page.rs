//! The texts that explain findings, laid out for a terminal.
//!
//! A text is a little Markdown: headings, paragraphs, lists and commands in fences.

use crate::cli::terminal;

const TEXTS: &str = include_str!("../../docs/findings.md");

/// Every id with the text below it.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let texts = TEXTS.strip_prefix("# ").unwrap_or(TEXTS).split("\n\n# ");
    texts.filter_map(|text| text.split_once("\n\n"))
}

/// The one sentence with which a text begins.
pub fn summary(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The whole text. Lines are broken between words so as to stay within so many columns; a command is never broken.
pub fn laid_out(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut paragraph = Paragraph::default();
    let mut command = false;
    let mut indent = "";
    for line in text.lines() {
        if line.starts_with("```") {
            command = !command;
        } else if command {
            out.push_str(&format!("    {line}\n"));
        } else if let Some(title) = line.strip_prefix("## ") {
            out.push_str(&format!("\n{}", terminal::heading(title)));
            indent = "  ";
        } else if let Some(item) = line.strip_prefix("- ") {
            paragraph.end(&mut out, columns);
            paragraph.begin(&format!("{indent}- "), item);
        } else if line.is_empty() {
            paragraph.end(&mut out, columns);
        } else if paragraph.words.is_empty() {
            paragraph.begin(indent, line);
        } else {
            paragraph.add(line);
        }
    }
    paragraph.end(&mut out, columns);
    out
}

/// Words that are still to be broken into lines.
#[derive(Default)]
struct Paragraph {
    /// What stands before the first line. The others are indented as far.
    first: String,
    words: Vec<String>,
}

impl Paragraph {
    fn begin(&mut self, first: &str, line: &str) {
        self.first = first.to_string();
        self.add(line);
    }

    fn add(&mut self, line: &str) {
        self.words.extend(words(&bare(line)));
    }

    fn end(&mut self, out: &mut String, columns: usize) {
        let mut line = std::mem::take(&mut self.first);
        let indent = " ".repeat(line.chars().count());
        let mut empty = true;
        for word in std::mem::take(&mut self.words) {
            if !empty && line.chars().count() + 1 + word.chars().count() > columns {
                out.push_str(&format!("{line}\n"));
                line.clone_from(&indent);
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(&word);
            empty = false;
        }
        if !empty {
            out.push_str(&format!("{line}\n"));
        }
    }
}

/// What stands between backticks counts as one word, so that it can be copied in one piece.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        quoted ^= c == '`';
        match words.last_mut() {
            Some(word) if c != ' ' || quoted => word.push(c),
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Markdown wants an address in angle brackets, which a terminal would take for a part of it.
fn bare(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("<https://") {
        let (address, behind) = after.split_once('>').unwrap_or((after, ""));
        out.push_str(&format!("{before}https://{address}"));
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_never_broken() {
        let command = format!("`sudo apt {}`", "install a-package ".repeat(8).trim_end());
        let text = format!("One.\n\n## Mend it\n\n- Debian: {command}, then\n  restart\n- no\n");
        assert_eq!(
            laid_out(&text, 80),
            format!(
                "One.\n\n{}  - Debian:\n    {command},\n    then restart\n  - no\n",
                terminal::heading("Mend it")
            )
        );
    }

    #[test]
    fn lines_stay_within_the_terminal() {
        let text = "word ".repeat(100);
        for line in laid_out(&text, 80).lines() {
            assert!(
                (76..=80).contains(&line.chars().count()) || line.len() == 19,
                "{line}"
            );
        }
    }

    #[test]
    fn an_address_is_bare() {
        assert_eq!(
            bare("from (<https://a.example/b>), or <https://c.example>"),
            "from (https://a.example/b), or https://c.example"
        );
    }
}
