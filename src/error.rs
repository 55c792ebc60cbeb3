//! The error of a build script.

use crate::runtime::facts::{Finding, FindingId, Severity, finding_id, printable};
use std::fmt::{self, Write};

/// All errors that stop the build, together. `Display` and `Debug` print the same text, since cargo shows a build
/// script's error by its `Debug`.
///
/// The `?` operator converts other errors that are common in build scripts: those of `std::io`, `std::env` and
/// `std::fmt`, number and UTF-8 parsing errors, any `Box<dyn std::error::Error>`, and strings. [`Error::other`]
/// converts the rest.
///
/// ```no_run
/// match cudnn_guard::Config::new().cudnn(">=9").probe() {
///     Ok(gpu) => gpu.link(),
///     Err(error) if error.is_not_found() => println!("cargo::warning=built without CUDA"),
///     Err(error) => panic!("{error}"),
/// }
/// ```
#[derive(Clone)]
pub struct Error {
    findings: Vec<Finding>,
    /// The message of another library or of the script itself. If it is set, there are no findings.
    other: String,
    /// Set if a library for another CPU was requested explicitly, or may have been. Otherwise it counts as missing.
    pub(crate) is_wrong_cpu_requested: bool,
}

impl Error {
    pub(crate) fn new(findings: Vec<Finding>) -> Self {
        Self {
            findings,
            other: String::new(),
            is_wrong_cpu_requested: true,
        }
    }

    /// Returns an error with the findings that stop the build. If there are none, returns all findings.
    pub(crate) fn split_findings(findings: Vec<Finding>) -> Result<Vec<Finding>, Self> {
        let is_error = |finding: &Finding| finding.severity == Severity::Error;
        let (stopping, passed): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_error);
        match stopping[..] {
            [] => Ok(passed),
            _ => Err(Self::new(stopping)),
        }
    }

    /// Creates an error from any other error of the build script. Its sources are printed below it:
    ///
    /// ```no_run
    /// # fn script() -> Result<(), Box<dyn std::error::Error>> { Ok(()) }
    /// cudnn_guard::build(|| script().map_err(cudnn_guard::Error::other));
    /// ```
    pub fn other(error: impl Into<Box<dyn std::error::Error>>) -> Self {
        Self::from_boxed(error.into())
    }

    fn from_boxed(error: Box<dyn std::error::Error>) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(own) => return *own,
            Err(error) => error,
        };
        let mut other = printable_lines(&error.to_string(), "");
        let mut source = error.source();
        while let Some(cause) = source {
            other.push_str(&printable_lines(&cause.to_string(), "  caused by   "));
            source = cause.source();
        }
        Self {
            findings: Vec::new(),
            other: other.trim_end().to_string(),
            is_wrong_cpu_requested: false,
        }
    }

    /// Returns `true` if the only reason is that CUDA, nvcc or cuDNN is not installed or not available for the target.
    pub fn is_not_found(&self) -> bool {
        let absent = |finding: &Finding| {
            let is_foreign =
                finding.id == FindingId::WrongArchitecture && !self.is_wrong_cpu_requested;
            is_foreign || finding_id::is_not_found(finding.id)
        };
        !self.findings.is_empty() && self.findings.iter().all(absent)
    }

    /// Returns the findings that stop the build. Empty for an error of another library.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl From<Finding> for Error {
    fn from(finding: Finding) -> Self {
        Self::new(vec![finding])
    }
}

/// Prefixes the first line with the label, and indents the others.
fn printable_lines(text: &str, label: &str) -> String {
    let mut out = String::new();
    for (index, line) in text.lines().enumerate() {
        let label = if index == 0 {
            label
        } else {
            &" ".repeat(label.len())
        };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{label}{}", printable(line));
    }
    out
}

macro_rules! impl_from {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::other(error)
            }
        })*
    };
}

impl_from! {
    std::io::Error,
    std::env::VarError,
    std::fmt::Error,
    std::num::ParseIntError,
    std::str::Utf8Error,
    std::string::FromUtf8Error,
    Box<dyn std::error::Error>,
    String,
    &str,
}

impl From<Box<dyn std::error::Error + Send + Sync>> for Error {
    fn from(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        Self::from_boxed(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.other)?;
        for (index, finding) in self.findings.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{finding}\n  {:<12}{}", "see", finding.page())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_not_found(ids: &[FindingId]) -> bool {
        let findings = ids.iter().map(|id| id.error("it is so"));
        Error::new(findings.collect()).is_not_found()
    }

    #[test]
    fn only_missing_installations_are_not_found() {
        let absent = [
            FindingId::CudaNotFound,
            FindingId::CudnnNotFound,
            FindingId::CudnnHeadersMissing,
            FindingId::NvccNotFound,
            FindingId::PlatformUnsupported,
        ];
        for id in absent {
            assert!(is_not_found(&[id]), "{id}");
            assert!(
                !is_not_found(&[id, FindingId::CudaRequirementUnmet]),
                "{id}"
            );
        }
        assert!(is_not_found(&absent));
        assert!(!is_not_found(&[FindingId::VariableUnusable]));
    }

    /// A script that continues without CUDA after `is_not_found` must not continue without a required file.
    #[test]
    fn an_error_without_findings_is_not_a_missing_installation() {
        assert!(!is_not_found(&[]));
        assert!(!Error::from("no such model").is_not_found());
    }

    /// An error with a message and a source.
    #[derive(Debug)]
    struct Failed(&'static str, Option<Box<Failed>>);

    impl fmt::Display for Failed {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl std::error::Error for Failed {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(self.1.as_deref()?)
        }
    }

    #[test]
    fn an_error_of_another_library_is_printed_with_its_sources() {
        let disk = Failed("no such disk", None);
        let file = Failed("cannot open\nthe file", Some(Box::new(disk)));
        let error = Error::other(Failed("no model\u{1b}[2J", Some(Box::new(file))));
        let text = "no model\\u{1b}[2J\n  \
                    caused by   cannot open\n              the file\n  \
                    caused by   no such disk";
        assert_eq!(error.to_string(), text);
        assert_eq!(format!("{error:?}"), text);
        // Errors of this crate keep their findings inside a box.
        let boxed: Box<dyn std::error::Error> = Error::from(FindingId::NoGpu.error("x")).into();
        assert_eq!(Error::from(boxed).findings().len(), 1);
    }
}
