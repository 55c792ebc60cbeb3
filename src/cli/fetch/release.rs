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

    /// Returns the last of the offered versions before this one and the first after it; `None` if this one is offered
    /// or if there are no others.
    pub fn neighbors(&self, offered: &[Self]) -> Option<Vec<Self>> {
        if self.is_start_of_one(offered) {
            return None;
        }
        let short = |one: &Self| one.first(self.0.len().max(2));
        let before = offered.iter().filter(|one| *one < self).max();
        let after = offered.iter().filter(|one| *one > self).min();
        let nearest: Vec<Self> = before.into_iter().chain(after).map(short).collect();
        (!nearest.is_empty()).then_some(nearest)
    }

    /// Returns `true` if one of the offered versions begins with these numbers.
    pub fn is_start_of_one(&self, offered: &[Self]) -> bool {
        offered.iter().any(|one| one.0.starts_with(&self.0))
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
    fn a_release_is_the_start_of_a_wheel_version() {
        let is_start = |text, version| {
            let release = Release::parse(text, 3).expect("a release");
            release.is_start_of_one(&[Release::from_wheel(version)])
        };
        assert!(is_start("9.1", "9.1.0.70"));
        assert!(!is_start("9.1", "9.14.0.64"));
        assert!(!is_start("9.14.0", "9.14"));
        assert!(is_start("13", "13.5.37"));
    }

    #[test]
    fn an_invalid_release_is_rejected() {
        for text in ["", "x", "9.", ".9", "9.1.2.3", "-1", "9 .1"] {
            assert!(Release::parse(text, 3).is_none(), "{text}");
        }
        assert!(Release::parse("13.0.1", 2).is_none());
    }
}
