//! The names of NVIDIA's packages.

use crate::runtime::facts::version::Version;
use std::path::Path;

/// Returns what to install, where Debian and Fedora may have other names for it.
pub fn by_distribution(debian: &str, fedora: &str) -> String {
    match debian == fedora {
        true => debian.to_string(),
        false => format!("{debian} (Debian, Ubuntu) or {fedora} (Fedora, RHEL)"),
    }
}

/// Returns the ending of NVIDIA's packages: `-12-8`.
pub fn package_suffix(version: Option<Version>) -> String {
    version.map_or_else(String::new, |one| format!("-{}-{}", one.major, one.minor))
}

/// Returns `true` if a toolkit consists of NVIDIA's wheels.
pub fn is_of_wheels(root: &Path) -> bool {
    root.ends_with("nvidia") || root.parent().is_some_and(|up| up.ends_with("nvidia"))
}
