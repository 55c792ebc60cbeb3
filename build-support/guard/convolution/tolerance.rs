//! The tolerances of right results, and the comparison of results.

use crate::runtime::convolution::{Case, Expected};
use crate::runtime::cudnn::DataType;

/// The largest error of a right result.
///
/// Let `K` be the number of products in a sum, `m` the sum of their magnitudes, and `u` half the distance from 1 to
/// the next number of a format: `2^-24` for single precision, `2^-11` for halves, `2^-8` for bfloat16.
///
/// *f32.* A sum of `K` products in single precision, in any order and with any mix of fused and separate steps, is off
/// by at most `(K + 1) u / (1 - (K + 1) u)` times `m` (N. J. Higham, "Accuracy and Stability of Numerical Algorithms",
/// section 3.1; the bias of a fused one is one more term). Four times that is allowed.
///
/// *tf32.* Each factor keeps ten bits of fraction. If it is truncated instead of rounded, it is off by less than
/// `2^-10` of itself, and a product by less than `2^-9 (1 + 2^-11)`. Tensor cores truncate where other units round, and
/// keep at most two bits more than single precision: each of the `K + 1` steps is off by less than `2^-22` of `m`.
///
/// *f16, bf16.* Products of two such numbers are exact in single precision, and sums are as above. The result is
/// rounded once, and once more for every partial sum that an engine keeps in the short format: up to four roundings of
/// `u m` are allowed. If `m` is at most `2^precision`, the whole numbers of `Operands` are never rounded, and the
/// result is exact. A quarter is allowed then, since engines may transform their input, and the next possible sum is
/// off by 1.
///
/// Winograd and Fourier transforms mix the numbers of a tile, so their error is proportional to the largest `m`, and
/// their constants cost some bits: sixteen times the above is allowed in single precision, eight times in the other
/// formats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    data_type: DataType,
    /// The bound, relative to the magnitude.
    factor: f64,
    /// The largest magnitude of the result, if it is used for all numbers.
    magnitude: Option<f64>,
}

impl Tolerance {
    /// Returns the bounds for a case, computed by an algorithm that transforms or by one that does not.
    pub fn for_case(case: &Case, transforms: bool, expected: &[Expected]) -> Self {
        let data_type = case.data_type;
        let terms = case.products() as f64 + 1.0;
        let power = |exponent: i32| 2f64.powi(exponent);
        let on_tensor_cores = terms * power(-22);
        let (factor, transformed) = match data_type {
            DataType::F32 => {
                let lost = terms * power(-24);
                (4.0 * lost / (1.0 - lost), 16.0)
            }
            DataType::Tf32 => (power(-9) * (1.0 + power(-11)) + on_tensor_cores, 8.0),
            short => (4.0 * power(-short.precision()) + on_tensor_cores, 8.0),
        };
        let largest = |most: f64, it: &Expected| most.max(it.magnitude);
        Self {
            data_type,
            factor: factor * if transforms { transformed } else { 1.0 },
            magnitude: transforms.then(|| expected.iter().fold(0.0, largest)),
        }
    }

    pub fn bound(&self, expected: &Expected) -> f64 {
        let magnitude = self.magnitude.unwrap_or(expected.magnitude);
        let exact = 2f64.powi(self.data_type.precision());
        if self.data_type.is_short() && self.magnitude.is_none() && magnitude <= exact {
            return 0.25;
        }
        self.factor * magnitude
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The largest distance; infinite if a number is not finite or missing.
    pub largest_error: f64,
    /// The index of the number that is furthest beyond its tolerance.
    pub worst: Option<usize>,
    /// The number of values that are wrong.
    pub wrong: usize,
    /// The number of all values.
    pub of: usize,
}

/// Compares a result, number by number. Numbers that are not finite or missing are wrong.
pub fn compare(result: &[f32], expected: &[Expected], tolerance: &Tolerance) -> Comparison {
    let mut comparison = Comparison {
        largest_error: 0.0,
        worst: None,
        wrong: 0,
        of: expected.len(),
    };
    let mut furthest = 0.0;
    for (index, expected) in expected.iter().enumerate() {
        let error = match result.get(index) {
            Some(value) if value.is_finite() => (f64::from(*value) - expected.value).abs(),
            _ => f64::INFINITY,
        };
        comparison.largest_error = error.max(comparison.largest_error);
        let allowed = tolerance.bound(expected);
        if error > allowed {
            comparison.wrong += 1;
            let beyond = error - allowed;
            if comparison.worst.is_none() || beyond > furthest {
                comparison.worst = Some(index);
                furthest = beyond;
            }
        }
    }
    comparison
}
