//! The data symbol in which a part of cuDNN carries its release.

use crate::runtime::facts::version::Version;

/// The parts that have one.
pub const WITH_SYMBOL: [&str; 6] = ["graph", "ops", "adv", "ops_infer", "cnn_infer", "adv_infer"];

/// The names that it may have: `graph` and `ops_infer` carry their own, `ops` and `adv` that of their 8.x half.
pub fn names(part: &str) -> [String; 2] {
    [
        format!("cudnn_{part}_version"),
        format!("cudnn_{part}_infer_version"),
    ]
}

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
