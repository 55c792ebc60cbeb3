//! How cuDNN computes a convolution, by cuDNN's own names.

use crate::runtime::cudnn::operation::Operation;
use std::fmt;

/// One of `cudnnConvolutionFwdAlgo_t`, `cudnnConvolutionBwdDataAlgo_t` or `cudnnConvolutionBwdFilterAlgo_t`; or an
/// engine of the graph interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Its number among those of the operation.
    pub number: i32,
    /// Its name; "unknown" for one that came after this was written. Engines have none, their numbers are known.
    name: Option<&'static str>,
    transforms: bool,
}

/// The algorithms of an operation, each at the place of its number.
pub const FORWARD: &[&str] = &[
    "IMPLICIT_GEMM",
    "IMPLICIT_PRECOMP_GEMM",
    "GEMM",
    "DIRECT",
    "FFT",
    "FFT_TILING",
    "WINOGRAD",
    "WINOGRAD_NONFUSED",
];
/// The algorithms for the gradient of the data.
pub const BACKWARD_DATA: &[&str] = &[
    "ALGO_0",
    "ALGO_1",
    "FFT",
    "FFT_TILING",
    "WINOGRAD",
    "WINOGRAD_NONFUSED",
];
/// The algorithms for the gradient of the filters.
pub const BACKWARD_FILTER: &[&str] = &[
    "ALGO_0",
    "ALGO_1",
    "FFT",
    "ALGO_3",
    "WINOGRAD",
    "WINOGRAD_NONFUSED",
    "FFT_TILING",
];

impl Algorithm {
    /// The algorithm of this number.
    pub fn from_number(operation: Operation, number: i32) -> Self {
        let names = match operation {
            Operation::Forward | Operation::Fused => FORWARD,
            Operation::BackwardData => BACKWARD_DATA,
            Operation::BackwardFilter => BACKWARD_FILTER,
        };
        let place: Result<usize, _> = std::convert::TryFrom::try_from(number);
        let name = place.ok().and_then(|place| names.get(place)).copied();
        let name = name.unwrap_or("unknown");
        Self {
            number,
            name: Some(name),
            transforms: name.starts_with("FFT")
                || name.starts_with("WINOGRAD")
                || name == "unknown",
        }
    }

    /// The engine of this index, of which cuDNN itself says whether it transforms.
    pub fn engine(number: i32, transforms: bool) -> Self {
        Self {
            number,
            name: None,
            transforms,
        }
    }

    /// The two that are tried in turn. Number 1 of each operation sums in one order and may want a workspace; number
    /// 0 wants none, and every cuDNN offers it on every GPU where it offers the operation at all.
    pub fn usual(operation: Operation) -> [Self; 2] {
        [
            Self::from_number(operation, 1),
            Self::from_number(operation, 0),
        ]
    }

    /// Whether it computes with something else than the numbers themselves, and so loses more of them.
    pub fn transforms(self) -> bool {
        self.transforms
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => f.write_str(name),
            None => write!(f, "engine {}", self.number),
        }
    }
}
