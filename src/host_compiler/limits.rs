//! The host compilers that each CUDA supports.

use crate::compat;
use crate::runtime::facts::Version;
use std::fmt;

const TABLE: &str = include_str!("../../build-support/compat/host-compilers.txt");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// gcc, whose number is the major version.
    Gcc,
    /// clang, whose number is the major version.
    Clang,
    /// Microsoft's compiler, whose number is `_MSC_VER`.
    Msvc,
}

/// The limit that a compiler exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    Newer,
    Older,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Misfit::Newer => "newer",
            Misfit::Older => "older",
        })
    }
}

/// The limits of one CUDA. An unknown limit is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The newest supported major of gcc.
    pub gcc: Option<u32>,
    /// The first major of clang that is too new.
    pub clang: Option<u32>,
    /// The first supported `_MSC_VER`, and the first that is too new.
    pub msvc: Option<(u32, u32)>,
}

impl Limits {
    /// Returns the reason why a compiler is not supported, or `None` if it is supported or its limits are unknown.
    pub fn misfit(&self, make: Make, number: u32) -> Option<Misfit> {
        let newer = match make {
            Make::Gcc => self.gcc.is_some_and(|last| number > last),
            Make::Clang => self.clang.is_some_and(|above| number >= above),
            Make::Msvc => self.msvc.is_some_and(|(_, above)| number >= above),
        };
        let older = make == Make::Msvc && self.msvc.is_some_and(|(first, _)| number < first);
        let newer = newer.then_some(Misfit::Newer);
        newer.or(older.then_some(Misfit::Older))
    }
}

/// Parses the limits in `crt/host_config.h`, which the toolkit itself uses to stop the compilation.
pub fn parse_host_config(text: &str) -> Limits {
    let mut limits = Limits::default();
    let mut clang = false;
    for line in text.lines() {
        let line = line.trim_start();
        if !line.starts_with("#if") && !line.starts_with("#elif") {
            continue;
        }
        // The checks for other vendors' clangs, which have their own limits, come first.
        clang |= line.starts_with("#if defined(__clang__)");
        limits.gcc = limits.gcc.or_else(|| number_after(line, "__GNUC__ > "));
        if clang {
            let first = || number_after(line, "__clang_major__ >= ");
            limits.clang = limits.clang.or_else(first);
        }
        let both = || {
            let first = number_after(line, "_MSC_VER < ")?;
            Some((first, number_after(line, "|| _MSC_VER >= ")?))
        };
        limits.msvc = limits.msvc.or_else(both);
    }
    limits
}

/// Returns 11 for `#if __GNUC__ > 11`.
fn number_after(line: &str, words: &str) -> Option<u32> {
    let (_, rest) = line.split_once(words)?;
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// Returns the known limits of a CUDA version, for a toolkit without a readable header.
pub fn for_cuda(version: Version) -> Option<Limits> {
    let is_it = |cuda: Version| (cuda.major, cuda.minor) == (version.major, version.minor);
    let (_, limits) = rows().into_iter().find(|(cuda, _)| is_it(*cuda))?;
    Some(limits)
}

/// Returns the first CUDA that is known to support this compiler.
pub fn first_with(make: Make, number: u32) -> Option<Version> {
    let is_it = |limits: Limits| limits.misfit(make, number).is_none();
    let (cuda, _) = rows().into_iter().find(|(_, limits)| is_it(*limits))?;
    Some(cuda)
}

/// Parses the table, which has the oldest CUDA first.
fn rows() -> Vec<(Version, Limits)> {
    compat::rows(TABLE, &|line| {
        let [cuda, gcc, clang, first, above, _] = compat::columns(line)?;
        let limits = Limits {
            gcc: Some(gcc.parse().ok()?),
            clang: Some(clang.parse().ok()?),
            msvc: Some((first.parse().ok()?, above.parse().ok()?)),
        };
        Some((Version::parse(cuda)?, limits))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_limits_in_the_header() {
        let text = "\
#if defined(__GNUC__)

#if __GNUC__ > 16

#error -- unsupported GNU version! gcc versions later than 16 are not supported!

#endif /* __GNUC__ > 16 */

#if defined(__HORIZON__)
#if (__clang_major__ >= 22) || (__clang_major__ < 3)
#error -- unsupported HOS clang version!
#endif
#endif

#if defined(__clang__) && !defined(__ibmxl_vrm__) && !defined(__HORIZON__)
#if (__clang_major__ >= 23) || (__clang_major__ < 3) || ((__clang_major__ == 3) &&  (__clang_minor__ < 3))
#error -- unsupported clang version!
#endif
#endif

#if _MSC_VER < 1920 || _MSC_VER >= 1960
#error -- unsupported Microsoft Visual Studio version!
#elif _MSC_VER >= 1910 && _MSC_VER < 1910
#endif
";
        assert_eq!(
            parse_host_config(text),
            Limits {
                gcc: Some(16),
                clang: Some(23),
                msvc: Some((1920, 1960))
            }
        );
        assert_eq!(
            parse_host_config("#if __GNUC__ > x\n/* __GNUC__ > 3 */"),
            Limits::default()
        );
    }

    #[test]
    fn knows_the_limits_of_each_version() {
        let limits = for_cuda(Version::new(12, 6, 0)).unwrap();
        assert_eq!((limits.gcc, limits.clang), (Some(13), Some(19)));
        assert_eq!(limits.msvc, Some((1910, 1950)));
        assert_eq!(for_cuda(Version::new(99, 0, 0)), None);
        let first = |make, number| first_with(make, number).map(Version::short);
        assert_eq!(first(Make::Gcc, 15).as_deref(), Some("13.0"));
        assert_eq!(first(Make::Gcc, 99), None);
        assert_eq!(first(Make::Clang, 16).as_deref(), Some("12.2"));
        assert_eq!(first(Make::Msvc, 1944).as_deref(), Some("12.4"));
        let releases: Vec<Version> = rows().iter().map(|(cuda, _)| *cuda).collect();
        assert!(releases.is_sorted() && releases.len() > 15, "{releases:?}");
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(lines.count(), releases.len(), "every row is read");
    }
}
