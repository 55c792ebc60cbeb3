//! Versions of CUDA and cuDNN, as written by people and in wheels.

use crate::Version;
use crate::model::text::joined;
use std::fmt;

/// The leading numbers of a version: `13`, `13.0`, `9.14.0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(pub Vec<u32>);

impl Release {
    /// Parses a version with at most `most` numbers: two for CUDA, three for cuDNN.
    pub fn parse(text: &str, most: usize) -> Option<Self> {
        let numbers: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        let numbers = numbers.ok().filter(|numbers| numbers.len() <= most);
        numbers.map(Self)
    }

    /// Parses a wheel's version up to the first part that is not a number: `12.4.127` for `12.4.127.post1`.
    pub fn from_wheel(version: &str) -> Self {
        Self(version.split('.').map_while(|n| n.parse().ok()).collect())
    }

    /// Returns the leading numbers, at most `most`.
    pub fn first(&self, most: usize) -> Self {
        Self(self.0.iter().copied().take(most).collect())
    }

    /// Returns the version of CUDA, with this minor version unless it has one.
    pub fn with_minor(&self, minor: u32) -> Version {
        Version::new(self.major(), self.0.get(1).copied().unwrap_or(minor), 0)
    }

    pub fn major(&self) -> u32 {
        self.0.first().copied().unwrap_or(0)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&joined(&self.0, "."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_release_is_rejected() {
        for text in ["", "x", "9.", ".9", "9.1.2.3", "-1", "9 .1"] {
            assert!(Release::parse(text, 3).is_none(), "{text}");
        }
        assert!(Release::parse("13.0.1", 2).is_none());
    }
}
