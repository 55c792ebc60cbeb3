//! GPU targets, in the syntax of nvcc, CMake and PyTorch.

use crate::model::gencode::Gencode;
use crate::runtime::facts::compute_capability::{Code, ComputeCapability, Suffix, Target};
use std::fmt;

/// The targets of a build, in numeric order. `Display` writes the syntax of `CUDNN_GUARD_ARCHS`: `sm_80 sm_90
/// compute_90`.
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
        self.0.iter().map(|gencode| gencode.target).collect()
    }

    /// Returns one nvcc flag for each target: `-gencode=arch=compute_80,code=sm_80`.
    pub fn nvcc(&self) -> Vec<String> {
        self.0.iter().map(Gencode::to_string).collect()
    }

    /// Returns the value for `CMAKE_CUDA_ARCHITECTURES`, such as `80-real;90`. Returns `None` if CMake cannot express a
    /// target, such as `8.6(8.0)`.
    pub fn cmake(&self) -> Option<String> {
        self.join_words(&|number, machine, ptx| {
            Some(match (machine, ptx) {
                (true, false) => format!("{number}-real"),
                (false, _) => format!("{number}-virtual"),
                (true, true) => number,
            })
        })
    }

    /// Returns the value for `TORCH_CUDA_ARCH_LIST`, such as `8.0;9.0+PTX`. Returns `None` if PyTorch cannot express a
    /// target: PTX without machine code, a family, or `8.6(8.0)`.
    pub fn torch(&self) -> Option<String> {
        let family = |gencode: &Gencode| gencode.target.suffix == Suffix::Family;
        if self.0.iter().any(family) {
            return None;
        }
        self.join_words(&|number, machine, ptx| {
            let end = number.len() - usize::from(number.ends_with('a')) - 1;
            let (major, minor) = number.split_at(end);
            machine.then(|| format!("{major}.{minor}{}", if ptx { "+PTX" } else { "" }))
        })
    }

    /// Joins the words for the targets. `word` gets the number with its suffix, and whether there is machine code and
    /// PTX for it.
    fn join_words(&self, word: &dyn Fn(String, bool, bool) -> Option<String>) -> Option<String> {
        let mut kinds: Vec<(Target, bool, bool)> = Vec::new();
        for gencode in &self.0 {
            if !gencode.is_plain() {
                return None;
            }
            let kind = Target {
                code: Code::Machine,
                ..gencode.target
            };
            let machine = gencode.target.code == Code::Machine;
            match kinds.iter_mut().find(|(known, ..)| *known == kind) {
                Some((_, known_machine, known_ptx)) => {
                    *known_machine |= machine;
                    *known_ptx |= !machine;
                }
                None => kinds.push((kind, machine, !machine)),
            }
        }
        let mut words = Vec::new();
        for (kind, machine, ptx) in kinds {
            let number = kind.to_string().trim_start_matches("sm_").to_string();
            words.push(word(number, machine, ptx)?);
        }
        Some(words.join(";"))
    }
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
