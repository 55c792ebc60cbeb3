//! Version requirements as half-open ranges.

use crate::model::{Installer, Kind};
use crate::{Finding, Version};
use semver::{Comparator, Op, VersionReq};

pub use crate::runtime::facts::built::Requirement;

/// An argument of `method` that is not a version requirement, or that no version meets.
pub struct InvalidRequirement<'a> {
    /// `cuda` or `cudnn`.
    pub method: &'a str,
    pub text: &'a str,
    /// The error of the parser, if the argument is not a requirement.
    pub error: Option<semver::Error>,
}

/// The requirements of the build script on CUDA and cuDNN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requirements {
    pub cuda: Option<Requirement>,
    pub cudnn: Option<Requirement>,
}

impl Requirements {
    pub fn get(&self, kind: Kind) -> Option<&Requirement> {
        match kind {
            Kind::Toolkit => self.cuda.as_ref(),
            Kind::Cudnn => self.cudnn.as_ref(),
        }
    }

    /// Returns the command that installs an accepted cuDNN for this CUDA major.
    pub fn install_cudnn(&self, installer: Installer, cuda: u32) -> Option<String> {
        let cudnn = self.cudnn.as_ref();
        let from = cudnn.map_or(Version::new(0, 0, 0), |range| range.from);
        installer.install_cudnn(cuda, from, cudnn.and_then(|range| range.below))
    }

    /// Parses the arguments of `.cuda(..)` and `.cudnn(..)`. Returns a finding for each invalid one.
    pub fn parse(cuda: Option<&str>, cudnn: Option<&str>) -> (Self, Vec<Finding>) {
        let mut invalid = Vec::new();
        let mut read = |text: Option<&str>, method| {
            let parsed = Requirement::parse(text?, method);
            parsed.map_err(|finding| invalid.push(finding)).ok()
        };
        let requirements = Self {
            cuda: read(cuda, "cuda"),
            cudnn: read(cudnn, "cudnn"),
        };
        (requirements, invalid)
    }
}

impl Requirement {
    /// Parses the argument of `method`, which is `cuda` or `cudnn`.
    fn parse(text: &str, method: &str) -> Result<Self, Finding> {
        let invalid = |error| {
            let fault = InvalidRequirement {
                method,
                text,
                error,
            };
            fault.finding()
        };
        let parsed = VersionReq::parse(text).map_err(|error| invalid(Some(error)))?;
        let mut range = Self {
            text: text.to_string(),
            from: Version::new(0, 0, 0),
            below: None,
        };
        for comparator in &parsed.comparators {
            let (from, below) = version_range(comparator);
            range.from = range.from.max(from);
            range.below = match (range.below, below) {
                (Some(first), Some(second)) => Some(first.min(second)),
                (first, second) => first.or(second),
            };
        }
        if range.below.is_some_and(|below| below <= range.from) {
            return Err(invalid(None));
        }
        Ok(range)
    }

    /// Returns the major if all versions that meet the requirement share one.
    pub fn only_major(&self) -> Option<u32> {
        let next = Version::new(self.from.major.saturating_add(1), 0, 0);
        (self.below? <= next).then_some(self.from.major)
    }

    /// Returns `true` if versions with this major may meet the requirement.
    pub fn overlaps(&self, major: u32) -> bool {
        let is_before = |below| Version::new(major, 0, 0) < below;
        self.from.major <= major && self.below.is_none_or(is_before)
    }

    pub fn admits(&self, version: Version) -> bool {
        version >= self.from && self.below.is_none_or(|below| version < below)
    }
}

/// Returns the range of versions that a comparator accepts, by the rules of the semver crate. NVIDIA's versions have no
/// pre-release number. A pre-release in a requirement precedes its version.
fn version_range(comparator: &Comparator) -> (Version, Option<Version>) {
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let major = small(comparator.major);
    let minor = comparator.minor.map(small);
    let patch = comparator.patch.map(small);
    let first = Version::new(major, minor.unwrap_or(0), patch.unwrap_or(0));
    let next_major = Version::new(major.saturating_add(1), 0, 0);
    let next_minor = Version::new(major, first.minor.saturating_add(1), 0);
    let next_patch = Version::new(major, first.minor, first.patch.saturating_add(1));
    // The first version after all those that the given numbers match.
    let after = match (minor, patch) {
        _ if !comparator.pre.is_empty() => first,
        (None, _) => next_major,
        (_, None) => next_minor,
        _ => next_patch,
    };
    let start = Version::new(0, 0, 0);
    match comparator.op {
        Op::Exact | Op::Wildcard => (first, Some(after)),
        Op::Greater => (after, None),
        Op::GreaterEq => (first, None),
        Op::Less => (start, Some(first)),
        Op::LessEq => (start, Some(after)),
        Op::Tilde if minor.is_none() => (first, Some(next_major)),
        Op::Tilde => (first, Some(next_minor)),
        // `^` ends at the next change of the first number that is not 0.
        _ if major > 0 || minor.is_none() => (first, Some(next_major)),
        _ if minor > Some(0) || patch.is_none() => (first, Some(next_minor)),
        _ => (first, Some(next_patch)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::owner::to_fetch;

    /// `cfg(cudnn_major)` uses it if the build needs no cuDNN.
    #[test]
    fn the_major_if_all_versions_share_one() {
        let major = |text| Requirement::parse(text, "cudnn").unwrap().only_major();
        assert_eq!(major(">=9.1, <10"), Some(9));
        assert_eq!(major("9"), Some(9));
        assert_eq!(major(">=9.1, <10.1"), None);
        assert_eq!(major(">=9.1"), None);
    }

    #[test]
    fn the_range_agrees_with_semver() {
        let numbers = [
            "0",
            "9",
            "0.0",
            "0.3",
            "9.1",
            "0.0.2",
            "0.3.2",
            "9.1.0",
            "9.1.2",
            "9.1.2-rc.1",
            "0.3.0-a",
        ];
        let mut texts = vec![
            "*".to_string(),
            "9.*".into(),
            "9.1.*".into(),
            ">=9.1, <10".into(),
            ">8, <=9.10".into(),
            "^9.1, <9.10.1".into(),
        ];
        for op in ["", "=", ">", ">=", "<", "<=", "~", "^"] {
            texts.extend(numbers.iter().map(|number| format!("{op}{number}")));
        }
        let mut compared = 0;
        for text in &texts {
            let semver = VersionReq::parse(text).unwrap();
            let range = Requirement::parse(text, "cudnn");
            for major in [0, 1, 8, 9, 10] {
                for minor in [0, 1, 2, 3, 4, 9, 10, 11] {
                    for patch in [0, 1, 2, 3] {
                        let expected = semver.matches(&semver::Version::new(major, minor, patch));
                        let version = Version::new(major as u32, minor as u32, patch as u32);
                        let got = range.as_ref().is_ok_and(|range| range.admits(version));
                        assert_eq!(got, expected, "{text} and {version}");
                        compared += 1;
                    }
                }
            }
        }
        assert_eq!(compared, texts.len() * 160);
    }

    #[test]
    fn fetch_gets_a_version_that_meets_the_requirement() {
        for (kind, text, before, fetched) in [
            (Kind::Toolkit, ">=12.0", None, None),
            (Kind::Toolkit, ">=13.2", None, None),
            (Kind::Toolkit, ">=13.2", Some((13, 0, 0)), Some("13.2")),
            (Kind::Toolkit, ">=13.2", Some((13, 4, 0)), None),
            (Kind::Toolkit, ">=12, <14", None, None),
            (Kind::Toolkit, ">=12, <13", None, Some("12")),
            (Kind::Toolkit, ">=12.4, <13", None, Some("12")),
            (Kind::Toolkit, ">=12.4, <13", Some((12, 2, 0)), Some("12.4")),
            (Kind::Toolkit, "=12.8", None, Some("12.8")),
            (Kind::Toolkit, "=12.8.1", None, Some("12.8")),
            (Kind::Cudnn, ">=9.1, <10", None, None),
            (Kind::Cudnn, ">=9.10.2", Some((9, 10, 1)), Some("9.10.2")),
            (Kind::Cudnn, "<9", None, Some("8")),
            (Kind::Cudnn, ">=9.1, <9.5", None, Some("9.4")),
            (Kind::Cudnn, "=9.10.1", None, Some("9.10.1")),
            (Kind::Cudnn, "<9.5", None, Some("9.4")),
            (Kind::Cudnn, "<9.10.2", None, Some("9.9")),
        ] {
            let requirement = Requirement::parse(text, kind.name()).unwrap();
            let before = before.map(|(major, minor, patch)| Version::new(major, minor, patch));
            let to_fetch = to_fetch(kind, requirement.from, requirement.below, before);
            let fetched = fetched.map(|version| format!(" --{} {version}", kind.name()));
            assert_eq!(to_fetch, fetched, "{text} {before:?}");
        }
    }

    #[test]
    fn an_invalid_requirement_is_quoted() {
        let finding = Requirement::parse("9.1 or so", "cudnn").unwrap_err();
        assert_eq!(
            finding.to_string(),
            "`.cudnn(\"9.1 or so\")` is not a valid version requirement  [config-invalid]\n  \
             = help: use Cargo.toml syntax in build.rs, for example `.cudnn(\">=9.1, <10\")`\n  \
             reason      expected comma after minor version number, found 'o'"
        );
        let finding = Requirement::parse(">=13, <12", "cuda").unwrap_err();
        assert_eq!(
            finding.to_string(),
            "no version can satisfy `.cuda(\">=13, <12\")`  [config-invalid]\n  \
             = help: use Cargo.toml syntax in build.rs, for example `.cuda(\">=12.0\")`"
        );
        assert!(Requirement::parse(">=13.1, <13.1", "cuda").is_err());
        assert!(Requirement::parse(">=13.1, <13.1.1", "cuda").is_ok());
    }
}
