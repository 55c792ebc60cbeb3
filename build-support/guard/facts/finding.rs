//! Findings, with the same value and wording at build time, at run time and on the terminal.

use crate::runtime::facts::codec::named;
use crate::runtime::facts::{Fields, FindingId, Json, is_unprintable};
use std::fmt;
use std::path::PathBuf;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Checked and compatible.
    Pass,
    /// Checked and incompatible.
    Fail,
    /// Not checked; the program continues.
    Unknown,
}

named!(Verdict {
    Pass = "pass",
    Fail = "fail",
    Unknown = "unknown",
});

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Severity {
    /// The finding stops the build or the program.
    Error,
    /// A failure is possible, or a check was not possible.
    Warning,
    /// Information only.
    Note,
}

impl Severity {
    /// Returns the verdict that a finding of this severity results in.
    pub fn verdict(self) -> Verdict {
        match self {
            Severity::Error => Verdict::Fail,
            Severity::Warning => Verdict::Unknown,
            Severity::Note => Verdict::Pass,
        }
    }

    /// Returns `Error` if the condition is met, else `Warning`.
    pub(crate) fn error_if(is_error: bool) -> Self {
        if is_error {
            Severity::Error
        } else {
            Severity::Warning
        }
    }
}

named!(Severity {
    Error = "error",
    Warning = "warning",
    Note = "note",
});

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A finding. Its `Display` output is a headline with the id, then the help, then the evidence:
///
/// ```text
/// cuDNN 8.9.7 at `/usr` is too old: this crate requires `>=9.1`  [cudnn-requirement-unmet]
///   = help: set CUDNN_PATH to a directory that contains cuDNN 9.1 or later
///   found via   the system directories: /usr/include/cudnn_version.h
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The id.
    pub id: FindingId,
    /// The severity.
    pub severity: Severity,
    /// The headline: one sentence, lower case, paths in backticks, what was found before what is required.
    pub summary: String,
    /// The evidence: label and value. Each further line of a value is printed below the first one.
    pub evidence: Vec<(&'static str, String)>,
    /// The ways to fix the fault, the most likely first. Each begins with a verb.
    pub help: Vec<String>,
}

impl FindingId {
    /// Creates an error with this headline.
    #[doc(hidden)]
    pub fn error(self, summary: impl Into<String>) -> Finding {
        Finding::new(self, Severity::Error, summary)
    }

    /// Creates a warning with this headline.
    #[doc(hidden)]
    pub fn warning(self, summary: impl Into<String>) -> Finding {
        Finding::new(self, Severity::Warning, summary)
    }

    /// Creates a note with this headline.
    #[doc(hidden)]
    pub fn note(self, summary: impl Into<String>) -> Finding {
        Finding::new(self, Severity::Note, summary)
    }

    /// Creates a finding with this headline: an error if the condition is met, else a warning.
    pub(crate) fn error_if(self, is_error: bool, summary: impl Into<String>) -> Finding {
        Finding::new(self, Severity::error_if(is_error), summary)
    }
}

impl Finding {
    // Not inlined, like the functions below: they are called from every message, and only if something is wrong.
    /// Creates a finding with this headline.
    #[inline(never)]
    pub fn new(id: FindingId, severity: Severity, summary: impl Into<String>) -> Self {
        Self {
            id,
            severity,
            summary: summary.into(),
            evidence: Vec::new(),
            help: Vec::new(),
        }
    }

    /// Adds a piece of evidence. Labels have at most ten letters.
    pub fn with(self, label: &'static str, value: impl fmt::Display) -> Self {
        self.with_value(label, &value)
    }

    #[inline(never)]
    fn with_value(mut self, label: &'static str, value: &dyn fmt::Display) -> Self {
        self.evidence.push((label, value.to_string()));
        self
    }

    /// Adds a piece of evidence, if it is known.
    pub(crate) fn with_some(self, label: &'static str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.with(label, value),
            None => self,
        }
    }

    /// Adds a piece of evidence with these lines, if there are any.
    pub fn with_lines(
        self,
        label: &'static str,
        lines: impl IntoIterator<Item = impl fmt::Display>,
    ) -> Self {
        // Short, since this function is compiled for every iterator type.
        let mut text = None;
        for line in lines {
            add_line(&mut text, &line);
        }
        self.with_some(label, text)
    }

    /// Adds a piece of evidence with these paths, one per line, if there are any.
    #[doc(hidden)]
    pub fn with_paths(self, label: &'static str, paths: &[PathBuf]) -> Self {
        self.with_lines(label, paths.iter().map(|path| path.display()))
    }

    /// Adds these pieces of evidence.
    pub(crate) fn with_all(mut self, mut evidence: Vec<(&'static str, String)>) -> Self {
        self.evidence.append(&mut evidence);
        self
    }

    /// Adds these pieces of evidence before the others.
    pub(crate) fn with_first(mut self, evidence: Vec<(&'static str, String)>) -> Self {
        self.evidence.splice(..0, evidence);
        self
    }

    /// Adds a way to fix the fault.
    #[inline(never)]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Adds ways to fix the fault, the most likely first.
    pub fn helps(mut self, texts: impl IntoIterator<Item = String>) -> Self {
        self.help.extend(texts);
        self
    }

    /// Adds the headline of the cause under this label, and its evidence.
    #[doc(hidden)]
    pub fn with_cause(self, label: &'static str, cause: Finding) -> Self {
        self.with(label, cause.summary).with_all(cause.evidence)
    }

    /// Returns the finding as a warning, for a caller that continues.
    pub fn into_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// Changes the severity on request of an operator or a build script. The request becomes evidence.
    pub(crate) fn override_severity(
        &mut self,
        severity: Severity,
        label: &'static str,
        request: &str,
    ) {
        self.severity = severity;
        self.evidence.push((label, request.to_string()));
    }

    /// Returns the summary with the id.
    pub(crate) fn headline(&self) -> String {
        format!("{}  [{}]", printable(&self.summary), self.id)
    }

    /// Returns the command that explains the finding.
    pub(crate) fn page(&self) -> String {
        format!("cudnn-guard explain {}", self.id)
    }

    /// Returns `{ "id", "severity", "summary", "evidence": {}, "help": [] }`.
    pub fn to_json(&self) -> String {
        self.json().to_string()
    }

    pub(crate) fn json(&self) -> Json {
        let mut evidence: Vec<(&str, Json)> = Vec::new();
        for (label, value) in &self.evidence {
            // The names in an object are unique. The last value is the most specific.
            match evidence.iter_mut().find(|(known, _)| known == label) {
                Some((_, known)) => *known = Json::text(value),
                None => evidence.push((label, Json::text(value))),
            }
        }
        Json::object(&[
            ("id", Json::text(&self.id)),
            ("severity", Json::text(&self.severity)),
            ("summary", Json::text(&self.summary)),
            ("evidence", Json::object(&evidence)),
            ("help", Json::list(&self.help, |help| Json::text(help))),
        ])
    }
}

fn add_line(text: &mut Option<String>, line: &dyn fmt::Display) {
    let line = line.to_string();
    match text {
        Some(text) => {
            text.push('\n');
            text.push_str(&line);
        }
        None => *text = Some(line),
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        for help in &self.help {
            write!(f, "\n  = help: {}", printable(help))?;
        }
        for (label, value) in &self.evidence {
            for (index, line) in value.split('\n').enumerate() {
                let label = if index == 0 { *label } else { "" };
                write!(f, "\n  {:<12}{}", label, printable(line))?;
            }
        }
        Ok(())
    }
}

/// Escapes each character of a text from the machine for which [`is_unprintable`] returns `true`, so that it cannot move
/// a cursor, start a new cargo line, or look like another text.
pub fn printable(text: &str) -> String {
    escaped(text, is_unprintable)
}

/// Escapes these characters.
pub fn escaped(text: &str, hidden: fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if hidden(character) {
            out += &character.escape_default().to_string();
        } else {
            out.push(character);
        }
    }
    out
}

/// Joins words as in a sentence: `a, b and c`.
pub fn listed(words: &[String]) -> String {
    match words.split_last() {
        Some((last, others @ [_, ..])) => format!("{} and {last}", others.join(", ")),
        _ => words.concat(),
    }
}

/// Returns a version or a number after a space, if known.
pub fn after_space(version: Option<impl fmt::Display>) -> String {
    version.map_or_else(String::new, |version| format!(" {version}"))
}

/// Quotes a word for a shell, if necessary.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
