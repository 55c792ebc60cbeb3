//! The value of `--cuda`: `12`, `12.4` or `>=12.4`.

use crate::Version;
use crate::cli::fetch::release::Release;
use clap::Arg;
use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub struct CudaVersion {
    pub release: Release,
    pub or_later: bool,
}

/// Returns the option, with a help that begins with its purpose and ends with its default.
pub fn arg(purpose: &str, default: &str) -> Arg {
    let help = format!("{purpose}: `12`, `12.4`, or `>=12.4` for this version or later{default}");
    let arg = Arg::new("cuda").long("cuda").value_name("VERSION");
    arg.help(help).value_parser(parse)
}

pub fn parse(text: &str) -> Result<CudaVersion, String> {
    let number = text.strip_prefix(">=").map(str::trim_start);
    let or_later = number.is_some();
    match Release::parse(number.unwrap_or(text), 2) {
        Some(release) => Ok(CudaVersion { release, or_later }),
        None => Err("write it as 12, 12.4 or >=12.4".to_string()),
    }
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{}",
            if self.or_later { ">=" } else { "" },
            self.release
        )
    }
}

impl From<Release> for CudaVersion {
    fn from(release: Release) -> Self {
        let or_later = false;
        Self { release, or_later }
    }
}

impl CudaVersion {
    /// Returns `true` if these leading numbers of a version may be those of a matching one.
    pub fn may_be(&self, version: &Release) -> bool {
        let numbers = self.release.0.len().min(version.0.len());
        let (version, own) = (version.first(numbers), self.release.first(numbers));
        version == own || (self.or_later && version > own)
    }

    /// Returns the oldest version that matches.
    pub fn oldest(&self) -> Version {
        self.release.with_minor(0)
    }

    /// Returns the requirement as `Config` reads it.
    pub fn requirement(&self) -> String {
        format!("{}{self}", if self.or_later { "" } else { "=" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_forms_are_accepted() {
        let read = |text| parse(text).map(|one| (one.requirement(), one.oldest().to_string()));
        let is = |requirement: &str, oldest: &str| Ok((requirement.into(), oldest.into()));
        assert_eq!(read("12"), is("=12", "12.0.0"));
        assert_eq!(read("12.4"), is("=12.4", "12.4.0"));
        assert_eq!(read(">=12.4"), is(">=12.4", "12.4.0"));
        assert_eq!(read(">= 12"), is(">=12", "12.0.0"));
        for text in ["", "new", "12.4.1", "^12", ">=12, <13", "12.", "=12", ">12"] {
            assert_eq!(
                read(text),
                Err("write it as 12, 12.4 or >=12.4".into()),
                "{text}"
            );
        }
    }

    #[test]
    fn later_versions_match_only_if_requested() {
        let may_be =
            |one: &str, version: &str| parse(one).unwrap().may_be(&Release::from_wheel(version));
        assert!(may_be("12.4", "12.4.131") && may_be("12", "12.9") && may_be("12.4", "12"));
        assert!(!may_be("12.4", "12.5") && !may_be("12", "13"));
        assert!(may_be(">=12.4", "12.5") && may_be(">=12.4", "13") && may_be(">=12.4", "12"));
        assert!(!may_be(">=12.4", "12.3.1") && !may_be(">=12.4", "11"));
    }
}
