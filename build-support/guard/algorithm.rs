//! How cuDNN computes a convolution, by cuDNN's own names.

use super::kind::Operation;

/// One of `cudnnConvolutionFwdAlgo_t`, `cudnnConvolutionBwdDataAlgo_t` or `cudnnConvolutionBwdFilterAlgo_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Its number among those of the operation.
    pub number: i32,
    /// Its name; "unknown" for one that came after this was written.
    pub name: &'static str,
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
/// The same for the gradient of the data.
pub const BACKWARD_DATA: &[&str] = &[
    "ALGO_0",
    "ALGO_1",
    "FFT",
    "FFT_TILING",
    "WINOGRAD",
    "WINOGRAD_NONFUSED",
];
/// The same for the gradient of the filters.
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
    pub fn of(operation: Operation, number: i32) -> Self {
        let names = match operation {
            Operation::Forward | Operation::Fused => FORWARD,
            Operation::BackwardData => BACKWARD_DATA,
            Operation::BackwardFilter => BACKWARD_FILTER,
        };
        let place: Result<usize, _> = std::convert::TryFrom::try_from(number);
        let name = place.ok().and_then(|place| names.get(place)).copied();
        Self {
            number,
            name: name.unwrap_or("unknown"),
        }
    }

    /// The two that are tried in turn. Number 1 of each operation sums in one order and may want a workspace; number
    /// 0 wants none, and every cuDNN offers it on every GPU where it offers the operation at all.
    pub fn usual(operation: Operation) -> [Self; 2] {
        [Self::of(operation, 1), Self::of(operation, 0)]
    }

    /// Whether it computes with something else than the numbers themselves, and so loses more of them.
    pub fn transforms(self) -> bool {
        self.name.starts_with("FFT") || self.name.starts_with("WINOGRAD") || self.name == "unknown"
    }
}
