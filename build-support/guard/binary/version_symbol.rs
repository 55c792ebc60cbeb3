//! The data symbol in which a sub-library of cuDNN carries its release.

use crate::runtime::facts::version::Version;

/// What it holds: four bytes, patch, minor, major, 0.
pub fn version(bytes: &[u8]) -> Option<Version> {
    match *bytes {
        [patch, minor, major, 0] if major > 0 => Some(Version::new(
            u32::from(major),
            u32::from(minor),
            u32::from(patch),
        )),
        _ => None,
    }
}
