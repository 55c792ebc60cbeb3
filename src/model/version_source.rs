//! What told the release of a library.

use std::fmt;

/// What told the release of a part of cuDNN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionSource {
    /// This symbol in the file: `cudnn_graph_version`.
    Symbol(&'static str),
    /// The version resource of a DLL.
    VersionResource,
    /// The linker's number for the build, in the table of known builds.
    BuildId,
    /// The numbers in the file's name.
    FileName,
    /// The record of the wheel that brought the file.
    PackageRecord,
}

impl VersionSource {
    /// The words that follow "by" in a sentence.
    pub fn with_article(&self) -> String {
        match self {
            Self::Symbol(symbol) => format!("its {symbol}"),
            Self::PackageRecord => self.to_string(),
            other => format!("its {other}"),
        }
    }
}

impl fmt::Display for VersionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symbol(symbol) => write!(f, "symbol {symbol}"),
            Self::VersionResource => f.write_str("version resource"),
            Self::BuildId => f.write_str("build-id"),
            Self::FileName => f.write_str("file name"),
            Self::PackageRecord => f.write_str("the record of its wheel"),
        }
    }
}
