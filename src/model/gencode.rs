//! One `-gencode` of nvcc: what is made, and through which PTX.

use crate::runtime::facts::compute_capability::{Code, Suffix, Target};
use std::fmt;

/// A target and the PTX that it is made through: its own unless somebody wrote another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gencode {
    /// What is made.
    pub target: Target,
    /// The PTX: `compute_80` in `-gencode=arch=compute_80,code=sm_86`.
    pub via: Target,
}

impl Gencode {
    /// Through its own PTX. `compute_90a` serves `sm_90a` alone, so both carry the letter.
    pub const fn plain(target: Target) -> Self {
        Self {
            via: Target {
                code: Code::Ptx,
                ..target
            },
            target,
        }
    }

    /// Whether the target goes through its own PTX.
    pub fn is_plain(self) -> bool {
        self == Self::plain(self.target)
    }

    /// Whether nvcc makes this of that: PTX stays what it is, machine code is for a GPU that the PTX runs on. PTX with
    /// an `a` becomes machine code with that letter alone.
    pub fn is_sound(self) -> bool {
        match (self.target.code, self.via.suffix) {
            (Code::Ptx, _) | (_, Suffix::Arch) => self.is_plain(),
            (Code::Machine, _) => self.via.runs_on(self.target.capability),
        }
    }

    /// Whether nvcc makes only one of the two: machine code with an `f` takes the place of the one without.
    pub fn excludes(self, other: Self) -> bool {
        let family = |suffix| suffix != Suffix::Arch;
        self.target == other.target
            || self.target.code == Code::Machine
                && other.target.code == Code::Machine
                && self.target.capability == other.target.capability
                && family(self.target.suffix)
                && family(other.target.suffix)
    }
}

impl fmt::Display for Gencode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "-gencode=arch={},code={}", self.via, self.target)
    }
}
