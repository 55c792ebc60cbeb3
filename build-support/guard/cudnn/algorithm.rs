//! The algorithms and engines of cuDNN, by cuDNN's own names.

use crate::runtime::cudnn::Operation;
use std::fmt;

/// A `cudnnConvolutionFwdAlgo_t`, `cudnnConvolutionBwdDataAlgo_t` or `cudnnConvolutionBwdFilterAlgo_t`, or an engine of
/// the graph API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Its number among the algorithms of its operation.
    pub number: i32,
    /// Its name; "unknown" for an algorithm that this code does not know. Engines have only numbers.
    name: Option<&'static str>,
    transforms: bool,
}

/// The algorithms of a forward convolution, each at the index of its number.
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

impl Algorithm {
    /// Returns a forward algorithm.
    pub fn forward(number: i32) -> Self {
        let index = usize::try_from(number).ok();
        let name = index.and_then(|index| FORWARD.get(index)).copied();
        let name = name.unwrap_or("unknown");
        Self {
            number,
            name: Some(name),
            transforms: name.starts_with("FFT")
                || name.starts_with("WINOGRAD")
                || name == "unknown",
        }
    }

    /// Creates an engine. cuDNN itself reports whether it transforms.
    pub fn engine(number: i32, transforms: bool) -> Self {
        Self {
            number,
            name: None,
            transforms,
        }
    }

    /// Returns the two algorithms that are tested in turn. Number 1 of each operation sums in one order and may need a
    /// workspace. Number 0 needs none, and every cuDNN offers it on every GPU where it offers the operation at all.
    pub fn usual(operation: Operation) -> [Self; 2] {
        let (first, second) = match operation {
            Operation::Forward | Operation::Fused => ("IMPLICIT_PRECOMP_GEMM", "IMPLICIT_GEMM"),
            Operation::BackwardData | Operation::BackwardFilter => ("ALGO_1", "ALGO_0"),
        };
        [(1, first), (0, second)].map(|(number, name)| Self {
            number,
            name: Some(name),
            transforms: false,
        })
    }

    /// Returns `true` if the algorithm computes with transformed numbers, and so loses more of their precision.
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
