//! The names of NVIDIA's packages.

use crate::runtime::facts::version::Version;
use std::path::Path;

/// Returns the package to install, with both names if Debian's and Fedora's differ.
pub fn by_distribution(debian: &str, fedora: &str) -> String {
    if debian == fedora {
        return debian.into();
    }
    format!("{debian} (Debian, Ubuntu) or {fedora} (Fedora, RHEL)")
}

/// Returns the suffix of NVIDIA's packages: `-12-8`.
pub fn package_suffix(version: Option<Version>) -> String {
    version.map_or_else(String::new, |version| {
        format!("-{}-{}", version.major, version.minor)
    })
}

/// Returns `true` if a toolkit consists of NVIDIA's wheels.
pub fn is_of_wheels(root: &Path) -> bool {
    root.ends_with("nvidia") || root.parent().is_some_and(|up| up.ends_with("nvidia"))
}
