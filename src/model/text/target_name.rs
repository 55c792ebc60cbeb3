//! The names of targets: `sm_90a`, `compute_100f`.

use crate::model::text::pattern::{Pattern, pattern};
use crate::runtime::facts::{Code, ComputeCapability, Suffix, Target};
use regex_lite::Captures;

/// A pattern with three groups that matches `86`, `8.6`, `120` and `12.0`, with the suffix.
pub const NUMBER: &str = r"([1-9][0-9]?)\.?([0-9])([af]?)";

/// Reads the groups of [`NUMBER`]; `first` is the index of the first group.
pub fn number(found: &Captures, first: usize) -> Option<(ComputeCapability, Suffix)> {
    let group = |group| Some(found.get(group)?.as_str());
    let suffix = match group(first + 2)? {
        "a" => Suffix::Arch,
        "f" => Suffix::Family,
        _ => Suffix::None,
    };
    let (major, minor) = (group(first)?.parse().ok()?, group(first + 1)?.parse().ok()?);
    Some((ComputeCapability::new(major, minor), suffix))
}

pub fn read(text: &str) -> Option<Target> {
    static TARGET: Pattern = Pattern::new(|| pattern(&format!("^(sm|compute)_{NUMBER}$")));
    let found = TARGET.captures(text)?;
    let (capability, suffix) = number(&found, 2)?;
    let code = match &found[1] {
        "sm" => Code::Machine,
        _ => Code::Ptx,
    };
    Some(Target {
        capability,
        suffix,
        code,
    })
}
