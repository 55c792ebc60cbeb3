//! Versions as numbers, and the sources of a library's version: cuDNN 9.14.0, CUDA 13.5.

use crate::runtime::facts::codec::parsed;
use std::fmt;

/// A version of cuDNN (three numbers) or of CUDA (two; the third is 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number. A different major means a different ABI.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number, which NVIDIA calls the patch level.
    pub patch: u32,
}

impl Version {
    /// Creates the version `major.minor.patch`.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// Decodes `CUDNN_VERSION` and the result of `cudnnGetVersion()`: `major * 1000 + minor * 100 + patch` up to cuDNN
    /// 8, `major * 10000 + minor * 100 + patch` from cuDNN 9 on (`cudnn_version.h` of each).
    pub const fn from_cudnn(number: u32) -> Self {
        let unit = if number >= 90_000 { 10_000 } else { 1_000 };
        Self::new(number / unit, number % unit / 100, number % 100)
    }

    /// Decodes `CUDA_VERSION` and the result of `cuDriverGetVersion()`: `major * 1000 + minor * 10` (`cuda.h`).
    pub const fn from_cuda(number: u32) -> Self {
        Self::new(number / 1000, number % 1000 / 10, 0)
    }

    /// Decodes the version symbol of a cuDNN sub-library: four bytes, patch, minor, major, 0.
    pub fn from_symbol(bytes: &[u8]) -> Option<Self> {
        match *bytes {
            [patch, minor, major, 0] if major > 0 => {
                Some(Self::new(major.into(), minor.into(), patch.into()))
            }
            _ => None,
        }
    }

    /// Parses two or three numbers with points between them: `9.14.0`, or `13.5` as 13.5.0.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.');
        let major = numbers.next().and_then(parsed)?;
        let minor = numbers.next().and_then(parsed)?;
        let patch = parsed(numbers.next().unwrap_or("0"))?;
        match numbers.next() {
            None => Some(Self::new(major, minor, patch)),
            Some(_) => None,
        }
    }

    /// Returns the first two numbers, as CUDA versions are written: `13.5`.
    pub fn short(self) -> String {
        format!("{}.{}", self.major, self.minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Returns `true` if a word consists of digits.
pub fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

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
