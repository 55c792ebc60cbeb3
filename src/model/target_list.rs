//! GPU targets, and the `-gencode` options of nvcc.

use crate::runtime::facts::{Code, ComputeCapability, Suffix, Target};
use std::fmt;

/// The targets of a build, in numeric order. `Display` writes the syntax of `CUDNN_GUARD_ARCHS`: `sm_80 sm_90
/// compute_90`.
///
/// ```no_run
/// let list = cudnn_guard::Config::new().cuda(">=12").probe()?.target_list()?;
/// println!("cargo::rustc-env=GPU_TARGETS={list}");
/// # Ok::<(), cudnn_guard::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetList(Vec<Gencode>);

impl TargetList {
    pub(crate) fn new(gencodes: Vec<Gencode>) -> Self {
        let mut sorted = Vec::new();
        for gencode in gencodes {
            add(&mut sorted, gencode);
        }
        Self(sorted)
    }

    /// Adds PTX of the highest target without a letter, unless the list has PTX.
    pub(crate) fn embed_ptx(&mut self) {
        let is_plain = |gencode: &&Gencode| gencode.target.suffix == Suffix::None;
        let highest = self.0.iter().rfind(is_plain).copied();
        if let (Some(mut highest), false) = (highest, self.has_ptx()) {
            highest.target.code = Code::Ptx;
            add(&mut self.0, Gencode::plain(highest.target));
        }
    }

    /// Returns `true` if every target has at least this compute capability, so that code that needs it can be enabled.
    pub fn all_at_least(&self, minimum: ComputeCapability) -> bool {
        self.0
            .iter()
            .all(|gencode| gencode.target.capability >= minimum)
    }

    pub(crate) fn has_ptx(&self) -> bool {
        self.0
            .iter()
            .any(|gencode| gencode.target.code == Code::Ptx)
    }

    pub(crate) fn gencodes(&self) -> &[Gencode] {
        &self.0
    }

    /// Returns the targets in numeric order.
    pub fn targets(&self) -> Vec<Target> {
        let mut targets = Vec::new();
        for gencode in &self.0 {
            targets.push(gencode.target);
        }
        targets
    }

    /// Returns one nvcc flag for each target: `-gencode=arch=compute_80,code=sm_80`.
    pub fn nvcc(&self) -> Vec<String> {
        gencode_flags(&self.0)
    }
}

/// Returns one nvcc flag for each target.
pub fn gencode_flags(gencodes: &[Gencode]) -> Vec<String> {
    let mut flags = Vec::new();
    for gencode in gencodes {
        flags.push(gencode.to_string());
    }
    flags
}

/// Inserts a value into a sorted list, unless the list contains it.
pub(crate) fn add<T: Ord>(sorted: &mut Vec<T>, value: T) {
    if let Err(place) = sorted.binary_search(&value) {
        sorted.insert(place, value);
    }
}

impl fmt::Display for TargetList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, gencode) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { " " };
            write!(f, "{gap}{}", gencode.target)?;
            if !gencode.is_plain() {
                let via = gencode.via.to_string();
                write!(f, "({})", via.trim_start_matches("compute_"))?;
            }
        }
        Ok(())
    }
}

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
            _ => self.via.runs_on(self.target.capability),
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
    let mut machine = Vec::new();
    for gencode in gencodes {
        if gencode.target.code == Code::Machine {
            machine.push(*gencode);
        }
    }
    machine
}

impl fmt::Display for Gencode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "-gencode=arch={},code={}", self.via, self.target)
    }
}
