//! Lists of targets, as they are taken together and named.

use crate::model::text::joined;
use crate::runtime::facts::compute_capability::{Code, ComputeCapability, Suffix, Target};
use crate::targets::nvcc_support::Compiler;
use crate::targets::nvcc_table;
use crate::toolkit::nvcc_output::add;

/// What a compiler makes machine code for; the newest one, where there is none to ask.
pub fn known(compiler: Option<&Compiler>) -> Vec<Target> {
    let newest = || Compiler::from_table(None, nvcc_table::newest());
    match compiler {
        Some(compiler) => compiler.codes.clone(),
        None => newest().map(|compiler| compiler.codes).unwrap_or_default(),
    }
}

/// Adds those that are not there yet.
pub fn add_all(targets: &mut Vec<Target>, more: &[Target]) {
    for target in more {
        add(targets, *target);
    }
}

/// The first of each major, from codes in numeric order.
pub fn majors(codes: &[Target]) -> Vec<Target> {
    let mut firsts: Vec<Target> = Vec::new();
    for code in codes {
        let seen = firsts.last().map(|first| first.capability.major);
        if code.suffix == Suffix::None && seen != Some(code.capability.major) {
            firsts.push(*code);
        }
    }
    firsts
}

/// With PTX for GPUs to come: that of the first of the highest major, as nvcc's own `-arch=all` does it.
pub fn with_ptx(codes: Vec<Target>) -> Vec<Target> {
    let first = majors(&codes).last().map(|first| ptx(first.capability));
    codes.into_iter().chain(first).collect()
}

/// Machine code for a compute capability.
pub const fn machine(capability: ComputeCapability) -> Target {
    Target {
        capability,
        suffix: Suffix::None,
        code: Code::Machine,
    }
}

/// PTX for a compute capability.
pub const fn ptx(capability: ComputeCapability) -> Target {
    Target {
        capability,
        suffix: Suffix::None,
        code: Code::Ptx,
    }
}

/// `sm_80 compute_90`
pub fn listed(targets: &[Target]) -> String {
    joined(targets, " ")
}
