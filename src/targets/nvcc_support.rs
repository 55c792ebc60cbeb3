//! What the nvcc that will compile can do.

use crate::model::text::joined;
use crate::runtime::facts::compute_capability::{Code, ComputeCapability, Suffix, Target};
use crate::runtime::facts::version::Version;
use crate::targets::nvcc_table;

const OLD_THOR: ComputeCapability = ComputeCapability::new(10, 1);
const THOR: ComputeCapability = ComputeCapability::new(11, 0);

/// An nvcc, by what it says itself or, where it cannot be asked, by what its release is known to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// What it is called in a sentence.
    name: String,
    /// Whether it was asked itself.
    asked: bool,
    /// The machine code without letters that it makes, in numeric order.
    pub codes: Vec<Target>,
    /// That with letters; none where nobody knows.
    letters: Option<Vec<Target>>,
    /// Whether it is newer than all that is known, and may do more.
    open: bool,
}

impl Compiler {
    /// One that was asked.
    pub fn from_answer(nvcc: &str, codes: Vec<Target>, letters: Option<Vec<Target>>) -> Self {
        Self {
            name: format!("`{nvcc}`"),
            asked: true,
            codes,
            letters,
            open: false,
        }
    }

    /// One of this release, by the table; none where the release is older than that.
    pub fn from_table(nvcc: Option<&str>, cuda: Version) -> Option<Self> {
        let row = nvcc_table::row_for(cuda)?;
        let (codes, letters) = row
            .codes
            .into_iter()
            .partition(|code| code.suffix == Suffix::None);
        Some(Self {
            name: nvcc.map_or_else(
                || format!("CUDA {}", cuda.short()),
                |nvcc| format!("`{nvcc}`"),
            ),
            asked: false,
            codes,
            letters: Some(letters),
            open: cuda > nvcc_table::newest(),
        })
    }

    /// What it is called in a sentence: its path, or `CUDA 12.4`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it was asked itself.
    #[cfg(feature = "cli")]
    pub fn was_asked(&self) -> bool {
        self.asked
    }

    /// Whether it makes this, if that is known. PTX is made of the same targets as machine code.
    pub fn can_make(&self, target: Target) -> Option<bool> {
        let code = Target {
            code: Code::Machine,
            ..target
        };
        let known = if code.suffix == Suffix::None {
            self.codes.contains(&code)
        } else {
            match &self.letters {
                Some(letters) => letters.contains(&code),
                None if self.knows(code.capability) => return None,
                None => false,
            }
        };
        let newer = self
            .codes
            .first()
            .is_some_and(|lowest| lowest.capability < code.capability);
        if known {
            Some(true)
        } else if self.open && newer {
            None
        } else {
            Some(false)
        }
    }

    /// Whether it makes plain machine code for this GPU.
    pub fn knows(&self, capability: ComputeCapability) -> bool {
        self.codes.iter().any(|code| code.capability == capability)
    }

    /// The newest GPU below this one that it knows; not the old Thor, which has no relatives among its neighbours.
    pub fn newest_below(&self, capability: ComputeCapability) -> Option<ComputeCapability> {
        let known = self.codes.iter().map(|code| code.capability);
        known
            .filter(|known| *known < capability && *known != OLD_THOR)
            .max()
    }

    /// All that it makes, in words.
    pub fn listed(&self) -> String {
        let letters = self.letters.iter().flatten();
        let mut all: Vec<Target> = self.codes.iter().chain(letters).copied().collect();
        all.sort();
        joined(all, " ")
    }

    /// A GPU by the number that this nvcc has for it: Thor was 10.1 until CUDA 13 made it 11.0.
    pub fn renamed(&self, capability: ComputeCapability) -> ComputeCapability {
        match capability {
            OLD_THOR if !self.knows(OLD_THOR) && self.knows(THOR) => THOR,
            THOR if !self.knows(THOR) && self.knows(OLD_THOR) => OLD_THOR,
            other => other,
        }
    }
}
