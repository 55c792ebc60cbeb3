//! The explanations of findings, formatted for a terminal.
//!
//! A text is simple Markdown: headings, paragraphs, lists and fenced commands.

use crate::cli::terminal;
use crate::model::text::pattern::pattern;
use crate::report::layout::wrapped;

const TEXTS: &str = include_str!("../../docs/findings.md");

/// Returns every id with the text below it.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    // The table of contents precedes them.
    let texts = TEXTS.split("\n\n# ").skip(1);
    texts.filter_map(|text| text.split_once("\n\n"))
}

/// Formats a text. Lines are wrapped at `columns`, but a command is never wrapped.
pub fn wrap(text: &str, columns: usize) -> String {
    let mut out = String::new();
    // A paragraph as one line, and the prefix of its first line, by which the other lines are indented.
    let (mut paragraph, mut first) = (String::new(), String::new());
    let (mut indent, mut is_command, mut follows_paragraph) = ("", false, false);
    for line in text.lines().chain([""]) {
        let item = line.strip_prefix("- ");
        if (line.is_empty() || item.is_some()) && !paragraph.is_empty() {
            let text = wrapped(
                &without_angle_brackets(paragraph.trim_end()),
                first.chars().count(),
                columns,
            );
            out.push_str(&format!("{first}{text}\n"));
            paragraph.clear();
            follows_paragraph = !first.ends_with("- ");
        }
        if line.starts_with("```") {
            is_command = !is_command;
            if line == "```powershell" {
                out.push_str("\n  Windows, in PowerShell:\n");
            }
        } else if is_command {
            out.push_str(&format!("    {line}\n"));
        } else if let Some(title) = line.strip_prefix("## ") {
            out.push_str(&format!("\n{}", terminal::heading(title)));
            (indent, follows_paragraph) = ("  ", false);
        } else if let Some(item) = item {
            first = format!("{indent}- ");
            paragraph.push_str(item);
        } else if line.is_empty() {
            continue;
        } else if paragraph.is_empty() {
            if follows_paragraph {
                out.push('\n');
            }
            first = indent.to_string();
            paragraph.push_str(line);
        } else {
            paragraph.push_str(&format!(" {}", line.trim()));
        }
    }
    out
}

/// Removes the angle brackets around an address in Markdown, since a terminal would treat them as part of the address.
fn without_angle_brackets(text: &str) -> String {
    let address = pattern("<(https://[^>]*)>");
    address.replace_all(text, "$1").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_never_broken() {
        let command = format!("`sudo apt {}`", "install a-package ".repeat(8).trim_end());
        let text =
            format!("One.\n\n## How to fix it\n\n- Debian: {command}, then\n  restart\n- no\n");
        assert_eq!(
            wrap(&text, 80),
            format!(
                "One.\n\n{}  - Debian:\n    {command},\n    then restart\n  - no\n",
                terminal::heading("How to fix it")
            )
        );
    }

    #[test]
    fn commands_for_windows_have_a_title() {
        let text = "```sh\nls\n```\n\n```powershell\ndir\ncl\n```\n";
        let expected = "    ls\n\n  Windows, in PowerShell:\n    dir\n    cl\n";
        assert_eq!(wrap(text, 80), expected);
    }

    #[test]
    fn a_blank_line_separates_paragraphs() {
        let expected = "One. Two.\n\nThree.\n- a\n- b\n";
        assert_eq!(wrap("One.\nTwo.\n\nThree.\n\n- a\n- b\n", 80), expected);
    }

    #[test]
    fn lines_stay_within_the_terminal() {
        let text = "word ".repeat(100);
        for line in wrap(&text, 80).lines() {
            assert!(
                (76..=80).contains(&line.chars().count()) || line.len() == 19,
                "{line}"
            );
        }
    }

    #[test]
    fn addresses_have_no_angle_brackets() {
        assert_eq!(
            without_angle_brackets("from (<https://a.example/b>), or <https://c.example>"),
            "from (https://a.example/b), or https://c.example"
        );
    }
}
