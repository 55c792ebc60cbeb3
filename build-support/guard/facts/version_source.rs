//! What told the release of a library.

use crate::runtime::facts::version::Version;
use std::fmt;

/// A release, and what told it.
pub type SourcedVersion = (Version, VersionSource);

/// What told the release of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Of a first library that does not tell it in any other way: a part beside it.
    Neighbor,
    /// `cudnnGetVersion`, which was called.
    Answer,
}

impl VersionSource {
    /// Returns its name, with that of a symbol: `symbol cudnn_graph_version`.
    pub fn in_full(self) -> String {
        match self {
            VersionSource::Symbol(symbol) => format!("symbol {symbol}"),
            other => other.to_string(),
        }
    }

    /// The words that follow "by" in a sentence.
    pub fn with_article(self) -> String {
        match self {
            VersionSource::PackageRecord | VersionSource::Neighbor => self.to_string(),
            other => format!("its {other}"),
        }
    }
}

impl fmt::Display for VersionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VersionSource::Symbol(_) => "version symbol",
            VersionSource::VersionResource => "version resource",
            VersionSource::BuildId => "build-id",
            VersionSource::FileName => "file name",
            VersionSource::PackageRecord => "the record of its wheel",
            VersionSource::Neighbor => "the part that lies beside it",
            VersionSource::Answer => "cudnnGetVersion",
        })
    }
}
