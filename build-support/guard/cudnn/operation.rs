//! The operations of the convolutions.

use crate::runtime::facts::Fields;
use crate::runtime::facts::codec::named;

/// A convolution, one of its gradients, or a convolution with a bias and ReLU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The output.
    Forward,
    /// The gradient of the input.
    BackwardData,
    /// The gradient of the filters.
    BackwardFilter,
    /// The output, with a bias and ReLU in the same call.
    Fused,
}

named!(Operation {
    Forward = "convolution forward",
    BackwardData = "convolution backward data",
    BackwardFilter = "convolution backward filter",
    Fused = "convolution bias ReLU",
});

impl Operation {
    pub fn words(self) -> &'static str {
        match self {
            Operation::Forward => "forward convolution",
            Operation::BackwardData => "backward data convolution",
            Operation::BackwardFilter => "backward filter convolution",
            Operation::Fused => "convolution with bias and ReLU",
        }
    }

    /// Returns the two operands and the result among what belongs to the tensors `x`, `w` and `y`, in cuDNN's order.
    pub fn operands<T>(self, [x, w, y]: [T; 3]) -> [T; 3] {
        match self {
            Operation::Forward | Operation::Fused => [x, w, y],
            Operation::BackwardData => [w, y, x],
            Operation::BackwardFilter => [x, y, w],
        }
    }

    /// Returns the meanings of the tensors `x`, `w` and `y`.
    pub fn buffers(self) -> [&'static str; 3] {
        match self {
            Operation::Forward | Operation::Fused => ["input", "filter", "output"],
            Operation::BackwardData => ["input gradient", "filter", "output gradient"],
            Operation::BackwardFilter => ["input", "filter gradient", "output gradient"],
        }
    }

    /// Returns the name of the result's tensor.
    pub fn result(self) -> &'static str {
        let [.., name] = self.operands(["dx", "dw", "y"]);
        name
    }
}
