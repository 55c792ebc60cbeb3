//! What is computed: a convolution, one of its gradients, or one with what follows it.

use crate::runtime::facts::codec::{Fields, named};

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// What comes out.
    Forward,
    /// The gradient of what went in.
    BackwardData,
    /// The gradient of the filters.
    BackwardFilter,
    /// What comes out, with a bias and ReLU in the same call.
    Fused,
}

named!(Operation {
    Forward = "convolution forward",
    BackwardData = "convolution backward data",
    BackwardFilter = "convolution backward filter",
    Fused = "convolution bias ReLU",
});

impl Operation {
    /// Its name in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Operation::Forward => "forward convolution",
            Operation::BackwardData => "backward data convolution",
            Operation::BackwardFilter => "backward filter convolution",
            Operation::Fused => "convolution with bias and ReLU",
        }
    }

    /// What the tensors `x`, `w` and `y` are to it.
    pub fn buffers(self) -> [&'static str; 3] {
        match self {
            Operation::Forward | Operation::Fused => ["input", "filter", "output"],
            Operation::BackwardData => ["input gradient", "filter", "output gradient"],
            Operation::BackwardFilter => ["input", "filter gradient", "output gradient"],
        }
    }

    /// The name of what it gives.
    pub fn result(self) -> &'static str {
        match self {
            Operation::Forward | Operation::Fused => "y",
            Operation::BackwardData => "dx",
            Operation::BackwardFilter => "dw",
        }
    }
}
