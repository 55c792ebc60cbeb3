//! The targets that the chosen nvcc supports.

use crate::model::joined;
use crate::runtime::facts::{Code, ComputeCapability, Suffix, Target, Version};
use crate::targets::nvcc_table;
use crate::targets::target_lists::add_all;

const OLD_THOR: ComputeCapability = ComputeCapability::new(10, 1);
const THOR: ComputeCapability = ComputeCapability::new(11, 0);

/// An nvcc with its targets, from its own output or, if it cannot be queried, from the table of versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// Its name for messages: its path, or `CUDA 12.4`.
    pub name: String,
    /// `true` if the targets are from its own output.
    pub was_queried: bool,
    /// The machine code targets without letters, in numeric order.
    pub codes: Vec<Target>,
    /// The targets with letters; `None` if unknown.
    letters: Option<Vec<Target>>,
    /// `true` if it is newer than the table, and so may support more.
    open: bool,
}

impl Compiler {
    /// Returns the compiler with these targets from its output.
    pub fn from_answer(nvcc: &str, codes: Vec<Target>, letters: Option<Vec<Target>>) -> Self {
        Self {
            name: format!("`{nvcc}`"),
            was_queried: true,
            codes,
            letters,
            open: false,
        }
    }

    /// Returns the compiler from the table, or `None` if the version is older than the table.
    pub fn from_table(nvcc: Option<&str>, cuda: Version) -> Option<Self> {
        let (_, codes) = nvcc_table::row_for(cuda)?;
        let is_plain = |code: &Target| code.suffix == Suffix::None;
        let (codes, letters) = codes.into_iter().partition(is_plain);
        Some(Self {
            name: match nvcc {
                Some(nvcc) => format!("`{nvcc}`"),
                None => format!("CUDA {}", cuda.short()),
            },
            was_queried: false,
            codes,
            letters: Some(letters),
            open: cuda > nvcc_table::newest(),
        })
    }

    /// Returns whether it supports a target, or `None` if that is unknown. It supports the same targets for PTX as for
    /// machine code.
    pub fn can_compile(&self, target: Target) -> Option<bool> {
        let code = Target {
            code: Code::Machine,
            ..target
        };
        let is_known = match &self.letters {
            _ if code.suffix == Suffix::None => self.codes.contains(&code),
            Some(letters) => letters.contains(&code),
            None if self.knows(code.capability) => return None,
            None => false,
        };
        let lowest = self.codes.first();
        let is_newer = lowest.is_some_and(|lowest| lowest.capability < code.capability);
        match is_known {
            false if self.open && is_newer => None,
            is_known => Some(is_known),
        }
    }

    /// Returns `true` if it compiles machine code for this GPU, without a letter.
    pub fn knows(&self, capability: ComputeCapability) -> bool {
        self.codes.iter().any(|code| code.capability == capability)
    }

    /// Returns the newest supported GPU below this one. Thor's old number is skipped, because it is unrelated to its
    /// neighbors.
    pub fn newest_below(&self, capability: ComputeCapability) -> Option<ComputeCapability> {
        let is_below = |known: ComputeCapability| known < capability && known != OLD_THOR;
        let below = self.codes.iter().rfind(|code| is_below(code.capability))?;
        Some(below.capability)
    }

    pub fn listed(&self) -> String {
        let mut all = self.codes.clone();
        add_all(&mut all, self.letters.as_deref().unwrap_or_default());
        joined(&all, " ")
    }

    /// Returns the number that this nvcc uses for a GPU: Thor was 10.1 until CUDA 13 changed it to 11.0.
    pub fn renamed(&self, capability: ComputeCapability) -> ComputeCapability {
        match capability {
            OLD_THOR if !self.knows(OLD_THOR) && self.knows(THOR) => THOR,
            THOR if !self.knows(THOR) && self.knows(OLD_THOR) => OLD_THOR,
            other => other,
        }
    }
}

/// Returns the machine code targets of a compiler, or without one those of the newest known version.
pub fn known(compiler: Option<&Compiler>) -> Vec<Target> {
    match compiler {
        Some(compiler) => compiler.codes.clone(),
        None => Compiler::from_table(None, nvcc_table::newest())
            .map_or_else(Vec::new, |compiler| compiler.codes),
    }
}
