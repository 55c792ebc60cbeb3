//! Operations on lists of targets.

use crate::model::target_list::add;
use crate::runtime::facts::{Code, ComputeCapability, Suffix, Target};

/// Adds the targets that are not in the list yet.
pub fn add_all(targets: &mut Vec<Target>, more: &[Target]) {
    for target in more {
        add(targets, *target);
    }
}

/// Keeps the matching targets, like `Vec::retain`, which would be compiled again for each condition.
pub fn keep(targets: &mut Vec<Target>, matches: &dyn Fn(&Target) -> bool) {
    targets.retain(|target| matches(target));
}

/// Returns the first target of each major; `codes` is in numeric order.
pub fn majors(codes: &[Target]) -> Vec<Target> {
    let mut firsts: Vec<Target> = Vec::new();
    for code in codes {
        let last_major = firsts.last().map(|first| first.capability.major);
        if code.suffix == Suffix::None && last_major != Some(code.capability.major) {
            firsts.push(*code);
        }
    }
    firsts
}

/// Adds PTX for later GPUs: like nvcc's `-arch=all`, of the first target of the highest major.
pub fn with_ptx(mut codes: Vec<Target>) -> Vec<Target> {
    let first = majors(&codes).last().map(|first| ptx(first.capability));
    codes.extend_from_slice(first.as_slice());
    codes
}

pub const fn machine(capability: ComputeCapability) -> Target {
    Target {
        capability,
        suffix: Suffix::None,
        code: Code::Machine,
    }
}

pub const fn ptx(capability: ComputeCapability) -> Target {
    Target {
        code: Code::Ptx,
        ..machine(capability)
    }
}
