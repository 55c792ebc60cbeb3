//! What was noticed: the same value and the same wording at build time, at run time and on the terminal.

use crate::runtime::facts::codec::{Fields, named};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::json::{Json, is_unprintable};
use std::fmt;

/// What was not checked is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Checked, and it fits.
    Pass,
    /// Checked, and it does not fit.
    Fail,
    /// Not known; the program goes on.
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

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It stops the build or the program.
    Error,
    /// It may go wrong, or it could not be checked.
    Warning,
    /// Good to know.
    Note,
}

impl Severity {
    /// Returns the verdict on what a finding of this severity is about.
    pub fn verdict(self) -> Verdict {
        match self {
            Severity::Error => Verdict::Fail,
            Severity::Warning => Verdict::Unknown,
            Severity::Note => Verdict::Pass,
        }
    }

    /// An error if it is one, else a warning.
    pub fn error_if(is_error: bool) -> Self {
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

/// One thing that was noticed. Printed, it is a headline with the id, then the help, then the evidence:
///
/// ```text
/// cuDNN 8.9.7 at `/usr` is older than the 9.1 this crate asks for  [cudnn-requirement-unmet]
///   = help: or lower `.cudnn(">=9.1")` in build.rs
///   found via   system directories: /usr/include/cudnn_version.h
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What it is about.
    pub id: FindingId,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence, lower case, paths in backticks, what was found before what was wanted.
    pub summary: String,
    /// What it rests on, label and value; a value of several lines is printed under itself.
    pub evidence: Vec<(&'static str, String)>,
    /// What the reader can do now, each beginning with a verb.
    pub help: Vec<String>,
}

impl Finding {
    /// An error with this headline.
    pub fn error(id: FindingId, summary: impl Into<String>) -> Self {
        Self::new(id, Severity::Error, summary)
    }

    /// A warning with this headline.
    pub fn warning(id: FindingId, summary: impl Into<String>) -> Self {
        Self::new(id, Severity::Warning, summary)
    }

    /// A note with this headline.
    pub fn note(id: FindingId, summary: impl Into<String>) -> Self {
        Self::new(id, Severity::Note, summary)
    }

    /// One that matters so much, with this headline.
    pub fn new(id: FindingId, severity: Severity, summary: impl Into<String>) -> Self {
        Self {
            id,
            severity,
            summary: summary.into(),
            evidence: Vec::new(),
            help: Vec::new(),
        }
    }

    /// With one more piece of evidence. Labels are of at most ten letters.
    pub fn with(mut self, label: &'static str, value: impl fmt::Display) -> Self {
        self.evidence.push((label, value.to_string()));
        self
    }

    /// With a piece of evidence that has a line for each of these, if there are any.
    pub fn with_lines(
        self,
        label: &'static str,
        lines: impl IntoIterator<Item = impl fmt::Display>,
    ) -> Self {
        // Short, since this is compiled for every iterator that it is called with.
        let mut text = None;
        for line in lines {
            add_line(&mut text, &line);
        }
        match text {
            Some(text) => self.with(label, text),
            None => self,
        }
    }

    /// With one more way to mend it.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Returns it as a warning, for a caller that it does not stop.
    pub fn into_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// Changes the severity on the request of an operator or a build script, which becomes evidence.
    pub fn override_severity(&mut self, severity: Severity, label: &'static str, request: &str) {
        self.severity = severity;
        self.evidence.push((label, request.to_string()));
    }

    /// What it is, in one sentence, and its id.
    pub(crate) fn headline(&self) -> String {
        format!("{}  [{}]", printable(&self.summary), self.id)
    }

    /// The command that tells more of it.
    pub fn page(&self) -> String {
        format!("cudnn-guard explain {}", self.id)
    }

    /// Returns `{ "id", "severity", "summary", "evidence": {}, "help": [] }`.
    pub fn to_json(&self) -> Json {
        let mut evidence: Vec<(&str, Json)> = Vec::new();
        for (label, value) in &self.evidence {
            // The names in an object are unique. The last value is the most specific: a reason's own reason.
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

/// Text from the machine with its control characters made visible, so that it cannot move a cursor, start a
/// new cargo line or hide what follows, and with those that turn the direction of text.
pub fn printable(text: &str) -> String {
    escaped(text, is_unprintable)
}

/// Text with these characters made visible.
pub fn escaped(text: &str, hidden: fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if hidden(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// A word as a shell takes it whole.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
