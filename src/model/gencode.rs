//! A `-gencode` option of nvcc.

use crate::runtime::facts::{Code, Suffix, Target};
use std::fmt;

/// A target and the PTX from which nvcc compiles it. Default: its own PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gencode {
    pub target: Target,
    /// The PTX: `compute_80` in `-gencode=arch=compute_80,code=sm_86`.
    pub via: Target,
}

impl Gencode {
    /// Creates a gencode that compiles a target from its own PTX. `sm_90a` can only be compiled from `compute_90a`, so
    /// both have the suffix.
    pub const fn plain(target: Target) -> Self {
        Self {
            via: Target {
                code: Code::Ptx,
                ..target
            },
            target,
        }
    }

    /// Returns `true` if the target is compiled from its own PTX.
    pub fn is_plain(self) -> bool {
        self == Self::plain(self.target)
    }

    /// Returns `true` if nvcc can compile the target from this PTX: PTX only from itself, machine code for a GPU that
    /// supports the PTX. PTX with the suffix `a` can only become machine code with this suffix.
    pub fn is_valid(self) -> bool {
        match (self.target.code, self.via.suffix) {
            (Code::Ptx, _) | (_, Suffix::Arch) => self.is_plain(),
            (Code::Machine, _) => self.via.runs_on(self.target.capability),
        }
    }

    /// Returns `true` if nvcc compiles only one of the two: machine code with the suffix `f` replaces the machine code
    /// without it.
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

pub fn machine_code(gencodes: &[Gencode]) -> Vec<Gencode> {
    let mut machine = gencodes.to_vec();
    machine.retain(|gencode| gencode.target.code == Code::Machine);
    machine
}

impl fmt::Display for Gencode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "-gencode=arch={},code={}", self.via, self.target)
    }
}
