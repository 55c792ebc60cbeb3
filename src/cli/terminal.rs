//! Terminal output: colored marks, and no control characters from the machine.

use crate::Verdict;
use crate::report::layout::{wrapped, wrapped_lines};
use crate::runtime::facts::{escaped, is_unprintable};
use crate::system::files;
use anstream::ColorChoice;
use anstyle::{AnsiColor, Style};
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use terminal_size::{Height, Width, terminal_size_of};

/// Escapes a text for a terminal. Lines, tabs and the style of a [`heading`] stay.
fn safe(text: &str) -> String {
    let text = escaped(text, |c| !"\n\t".contains(c) && is_unprintable(c));
    text.replace("\\u{1b}[1m", "\u{1b}[1m")
        .replace("\\u{1b}[0m", "\u{1b}[0m")
}

/// Prints a text. Marks after two spaces at the beginning of a line, severities there, and the lines of a diff are
/// colored if standard output supports it. A closed pipe is not an error.
pub fn show(text: impl Display) {
    let mut out = anstream::stdout().lock();
    let text = painted(&safe(&text.to_string()));
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// Wraps sentences and findings. Other lines that begin with four spaces are commands.
pub fn wrapped_text(text: &str) -> String {
    wrapped_lines(text, message_columns())
}

pub fn show_step(mark: &str, label: &str, text: impl Display) {
    let text = wrapped(&text.to_string(), 17, message_columns());
    show(format!("  {mark} {label:<12} {text}\n"));
}

/// Prints a text to standard error whose lines are sentences, findings or commands. Commands are indented by four spaces
/// and not broken.
pub fn show_on_stderr(text: impl Display) {
    let mut out = anstream::stderr().lock();
    let text = painted(&wrapped_text(&safe(&text.to_string())));
    let _ = out.write_all(text.as_bytes());
}

pub fn color() -> Arg {
    let help = "When to use colors";
    option("color", "WHEN", help)
        .global(true)
        .display_order(900)
        .value_parser(["auto", "always", "never"])
        .default_value("auto")
}

pub fn set_color(arguments: &ArgMatches) {
    let choice = match arguments.get_one::<String>("color").map(String::as_str) {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    };
    choice.write_global();
}

/// Returns the line width: COLUMNS or that of the terminal, from 40 to 120; 80 in a file or a pipe.
pub fn columns() -> usize {
    width(terminal_size_of(std::io::stdout())).unwrap_or(80)
}

/// Returns the line width of messages, which are not broken in a log.
pub fn message_columns() -> usize {
    let terminal = terminal_size_of(std::io::stdout());
    width(terminal.or(terminal_size_of(std::io::stderr()))).unwrap_or(u16::MAX.into())
}

fn width(terminal: Option<(Width, Height)>) -> Option<usize> {
    let named = std::env::var("COLUMNS").ok();
    let named = named.and_then(|columns| columns.parse().ok());
    let columns: u16 = named.or(terminal.map(|(width, _)| width.0))?;
    Some(columns.clamp(40, 120).into())
}

/// Returns an option without a value.
pub fn flag(name: &'static str, help: &'static str) -> Arg {
    let arg = Arg::new(name).long(name).help(help);
    arg.action(ArgAction::SetTrue)
}

pub fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    operand(name, value, help).long(name)
}

/// Returns an argument without a name.
pub fn operand(id: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(id).value_name(value).help(help)
}

/// Returns an argument that is a path.
pub fn path(id: &'static str, value: &'static str, help: &'static str) -> Arg {
    operand(id, value, help).value_parser(value_parser!(PathBuf))
}

pub fn json() -> Arg {
    flag("json", "Print the report as JSON")
}

/// Returns the JSON in a line if `--json` is set, or else the text.
pub fn form(arguments: &ArgMatches, json: String, text: String) -> String {
    match arguments.get_flag("json") {
        true => json + "\n",
        false => text,
    }
}

/// Parses the path of an existing directory.
pub fn directory(text: &str) -> Result<PathBuf, String> {
    let path = Some(PathBuf::from(text)).filter(|path| path.is_dir());
    path.ok_or_else(|| "there is no such directory".to_string())
}

/// Prints the result of a command, or the reason for its failure to standard error.
pub fn finish(result: Result<String, String>) -> ExitCode {
    match result {
        Ok(text) => {
            show(text);
            ExitCode::SUCCESS
        }
        Err(reason) => refuse(1, reason),
    }
}

/// Prints the reason for a failure to standard error.
pub fn refuse(code: u8, reason: impl Display) -> ExitCode {
    show_on_stderr(reason);
    ExitCode::from(code)
}

/// Returns the exit code of a command: 1 if the verdict is fail.
pub fn exit(verdict: Verdict) -> ExitCode {
    ExitCode::from(u8::from(verdict == Verdict::Fail))
}

pub fn heading(text: &str) -> String {
    let style = Style::new().bold();
    format!("{style}{text}{style:#}\n")
}

/// Prints the help with its headings in bold, or the reason why the arguments are invalid, and exits.
pub fn exit_with(error: &clap::Error) -> ! {
    let mut text = String::new();
    for line in error.to_string().split_inclusive('\n') {
        match line.strip_suffix('\n').filter(|line| line.ends_with(':')) {
            Some(title) if !title.starts_with(' ') => text += &heading(title),
            _ => text += line,
        }
    }
    match error.use_stderr() {
        true => show_on_stderr(text),
        false => show(text),
    }
    std::process::exit(error.exit_code())
}

/// Removes the home directory, the user's name and the machine's name from a text, for privacy.
pub fn redacted(text: &str) -> String {
    let variable = |name| std::env::var(name).ok();
    let home = variable("HOME").or_else(|| variable("USERPROFILE"));
    let mut users = ["USER", "LOGNAME", "USERNAME"].into_iter();
    let user = users.find_map(variable);
    let host = files::read_to_string("/proc/sys/kernel/hostname".as_ref()).ok();
    let host = host.or_else(|| variable("COMPUTERNAME"));
    let home = home.unwrap_or_default();
    let of_home = home.rsplit(['/', '\\']).next().map(String::from);
    let mut out = without(text, &home, "~");
    // JSON escapes backslashes.
    out = without(&out, &home.replace('\\', r"\\"), "~");
    for user in [user, of_home].into_iter().flatten() {
        out = without(&out, &user, "USER");
    }
    without(&out, host.unwrap_or_default().trim(), "HOST")
}

/// Words that may also be user or machine names, and that reveal nothing about them.
const COMMON: [&str; 6] = ["cuda", "cudnn", "localhost", "nvidia", "root", "user"];

/// Replaces a word between separators.
fn without(text: &str, word: &str, instead: &str) -> String {
    let is_common = COMMON.contains(&word) || word.len() < 2;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(word).filter(|_| !is_common) {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        out.push_str(before);
        let alone = !out.ends_with(is_part) && !behind.starts_with(is_part);
        out.push_str(if alone { instead } else { word });
        rest = behind;
    }
    out + rest
}

fn painted(text: &str) -> String {
    const MARKS: [(&str, AnsiColor); 5] = [
        ("  ✓", AnsiColor::Green),
        ("  ✗", AnsiColor::Red),
        ("  !", AnsiColor::Yellow),
        ("error:", AnsiColor::Red),
        ("warning:", AnsiColor::Yellow),
    ];
    let mut out = String::with_capacity(text.len());
    let mut is_diff = false;
    for line in text.split_inclusive('\n') {
        is_diff = line.starts_with("@@ ") || is_diff && line.starts_with(['+', '-', ' ', '\\']);
        let color = match line.get(..1).filter(|_| is_diff) {
            Some("+") => Some(AnsiColor::Green),
            Some("-") => Some(AnsiColor::Red),
            _ => None,
        };
        if let Some(style) = color.map(AnsiColor::on_default) {
            let line = line.trim_end_matches('\n');
            out.push_str(&format!("{style}{line}{style:#}\n"));
            continue;
        }
        match MARKS.iter().find(|(mark, _)| line.starts_with(mark)) {
            Some((mark, color)) => {
                let (mark, style) = (mark.trim_start(), color.on_default());
                out.push_str(&line.replacen(mark, &format!("{style}{mark}{style:#}"), 1));
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
    fn a_mark_is_colored_only_at_the_start_of_a_line() {
        assert_eq!(
            painted("  ✗ nvcc ✗\n    ✗\n"),
            "  \u{1b}[31m✗\u{1b}[0m nvcc ✗\n    ✗\n"
        );
        assert_eq!(
            painted("warning: an error: it\n  error: b\n"),
            "\u{1b}[33mwarning:\u{1b}[0m an error: it\n  error: b\n"
        );
    }

    #[test]
    fn only_the_lines_of_a_diff_are_colored_as_a_whole() {
        assert_eq!(
            painted("--- a\n+++ a\n@@ -1 +1 @@\n-b\n+c\n d\n\n- e\n"),
            "--- a\n+++ a\n@@ -1 +1 @@\n\u{1b}[31m-b\u{1b}[0m\n\u{1b}[32m+c\u{1b}[0m\n d\n\n- e\n"
        );
    }

    #[test]
    fn a_private_word_is_replaced_only_as_a_whole_word() {
        let text = "me: /home/me/a /srv/me/venv /home/me2 readme /home/me. cudnn-me\n";
        let text = without(text, "/home/me", "~");
        assert_eq!(
            without(&text, "me", "USER"),
            "USER: ~/a /srv/USER/venv /home/me2 readme ~. cudnn-USER\n"
        );
        for word in ["", "x", "cuda", "root"] {
            let text = "/root/x/cuda";
            assert_eq!(without(text, word, "USER"), text);
        }
    }

    #[test]
    fn only_lines_and_styles_reach_the_terminal() {
        let text = heading("a") + "\tb\u{1b}[2J\r\u{202e}\u{200b}\u{e0001}\u{ad}ü\n";
        assert_eq!(
            safe(&text),
            heading("a") + "\tb\\u{1b}[2J\\r\\u{202e}\\u{200b}\\u{e0001}\\u{ad}ü\n"
        );
    }
}
