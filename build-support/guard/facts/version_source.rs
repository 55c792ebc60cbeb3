//! The sources of a library's version.

use crate::runtime::facts::Version;
use std::fmt;

pub type SourcedVersion = (Version, VersionSource);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionSource {
    /// A symbol in the file: `cudnn_graph_version`.
    Symbol(&'static str),
    VersionResource,
    /// The build ID, in the table of known builds.
    BuildId,
    FileName,
    /// The record of the wheel that contains the file.
    PackageRecord,
    /// A sub-library beside a main library without another source.
    Neighbor,
    /// The result of `cudnnGetVersion`.
    Answer,
}

impl VersionSource {
    /// Returns the name, with the name of a symbol: `symbol cudnn_graph_version`.
    pub fn in_full(self) -> String {
        match self {
            VersionSource::Symbol(symbol) => format!("symbol {symbol}"),
            other => other.to_string(),
        }
    }

    /// Returns the words that follow "from" in a sentence.
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
            VersionSource::Neighbor => "the sub-library next to it",
            VersionSource::Answer => "cudnnGetVersion",
        })
    }
}
