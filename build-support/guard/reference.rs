//! What a convolution must give: plain loops in double precision, and how far single precision may be off.

/// What is computed.
pub const OPERATION: &str = "convolution forward";
/// In which data type.
pub const DATA_TYPE: &str = "f32";
/// Large enough for engines that work in tiles, small enough to cost nothing: 72 products for each of 3136 numbers.
pub const SHAPE: Shape = Shape {
    n: 2,
    c: 8,
    h: 14,
    w: 14,
    k: 8,
    r: 3,
    s: 3,
    pad: 1,
    stride: 1,
};

/// A two-dimensional forward convolution (cross-correlation, as networks mean it) in NCHW order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Images.
    pub n: usize,
    /// Channels that go in.
    pub c: usize,
    /// Height that goes in.
    pub h: usize,
    /// Width that goes in.
    pub w: usize,
    /// Channels that come out.
    pub k: usize,
    /// Height of the filter.
    pub r: usize,
    /// Width of the filter.
    pub s: usize,
    /// Zeros on each side.
    pub pad: usize,
    /// Step between two positions of the filter.
    pub stride: usize,
}

impl Shape {
    /// Numbers that go in.
    pub const fn inputs(&self) -> usize {
        self.n * self.c * self.h * self.w
    }

    /// Numbers in the filters.
    pub const fn weights(&self) -> usize {
        self.k * self.c * self.r * self.s
    }

    /// Height that comes out.
    pub fn out_h(&self) -> usize {
        self.out(self.h, self.r)
    }

    /// Width that comes out.
    pub fn out_w(&self) -> usize {
        self.out(self.w, self.s)
    }

    fn out(&self, size: usize, filter: usize) -> usize {
        let padded = size + 2 * self.pad;
        padded
            .checked_sub(filter)
            .map_or(0, |steps| quotient(steps, self.stride) + 1)
    }

    /// Numbers that come out.
    pub fn outputs(&self) -> usize {
        self.n * self.k * self.out_h() * self.out_w()
    }

    /// Products that are summed for one number that comes out.
    pub const fn products(&self) -> usize {
        self.c * self.r * self.s
    }

    /// The place `[n, k, row, column]` of a number that comes out.
    pub fn place(&self, index: usize) -> [usize; 4] {
        let (row, column) = divide(index, self.out_w());
        let (k, row) = divide(row, self.out_h());
        let (n, k) = divide(k, self.k);
        [n, k, row, column]
    }
}

/// Quotient and remainder. Written so that no division by 0, and with it no panic, can be compiled in.
fn divide(number: usize, by: usize) -> (usize, usize) {
    (quotient(number, by), number.checked_rem(by).unwrap_or(0))
}

fn quotient(number: usize, by: usize) -> usize {
    number.checked_div(by).unwrap_or(0)
}

/// Numbers between -1 and 1 without a pattern that a shifted or swapped result could share. None is 0, few have a
/// short binary form, and they are the same on every machine.
pub fn numbers(count: usize, start: u32) -> Vec<f32> {
    let mut state = start;
    (0..count)
        .map(|_| {
            // The linear congruence of "Numerical Recipes"; its upper bits are good enough here.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let odd = f64::from((state >> 16) | 1);
            (odd / 32_768.0 - 1.0) as f32 * 0.97
        })
        .collect()
}

/// One number that must come out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The sum of the products.
    pub value: f64,
    /// The most that a sound result in single precision is off.
    pub tolerance: f64,
}

/// Convolves in double precision.
///
/// The tolerance: a sum of `K` products in single precision, in any order and with any mix of fused and separate
/// steps, is off by at most `(K + 1) u / (1 - (K + 1) u)` times the sum of the products' magnitudes, with
/// `u = 2^-24` (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1). Engines that
/// transform their input first (Winograd, FFT) lose a little more, hence the factor 4. TF32 would be off by up to
/// `2^-10` times that sum, so it is switched off, and would show.
pub fn convolve(shape: Shape, x: &[f32], w: &[f32]) -> Vec<Expected> {
    let at =
        |values: &[f32], index: usize| values.get(index).map_or(0.0, |value| f64::from(*value));
    let terms = shape.products() as f64 + 1.0;
    let unit = 1.0 / 16_777_216.0;
    let bound = 4.0 * terms * unit / (1.0 - terms * unit);
    (0..shape.outputs())
        .map(|index| {
            let [n, k, row, column] = shape.place(index);
            let (mut value, mut magnitude) = (0.0, 0.0);
            for c in 0..shape.c {
                for r in 0..shape.r {
                    for s in 0..shape.s {
                        // Counted from the padding's edge, so that no number is negative.
                        let (y, z) = (row * shape.stride + r, column * shape.stride + s);
                        let inside = |place: usize, size: usize| {
                            place >= shape.pad && place < shape.pad + size
                        };
                        if inside(y, shape.h) && inside(z, shape.w) {
                            let from = ((n * shape.c + c) * shape.h + y - shape.pad) * shape.w + z
                                - shape.pad;
                            let weight = ((k * shape.c + c) * shape.r + r) * shape.s + s;
                            let product = at(x, from) * at(w, weight);
                            value += product;
                            magnitude += product.abs();
                        }
                    }
                }
            }
            let tolerance = bound * magnitude;
            Expected { value, tolerance }
        })
        .collect()
}

/// How a result compares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The largest distance; infinite if one of them is not a number.
    pub largest_error: f64,
    /// The place of the number that is furthest beyond its tolerance, if any is beyond it.
    pub worst: Option<usize>,
    /// How many are beyond it.
    pub wrong: usize,
}

/// Compares a result, number by number. One that is not finite is wrong, and so is one that is missing.
pub fn compare(result: &[f32], expected: &[Expected]) -> Comparison {
    let mut comparison = Comparison {
        largest_error: 0.0,
        worst: None,
        wrong: 0,
    };
    let mut furthest = 0.0;
    for (index, expected) in expected.iter().enumerate() {
        let error = match result.get(index) {
            Some(value) if value.is_finite() => (f64::from(*value) - expected.value).abs(),
            _ => f64::INFINITY,
        };
        comparison.largest_error = error.max(comparison.largest_error);
        if error > expected.tolerance {
            comparison.wrong += 1;
            let beyond = error - expected.tolerance;
            if comparison.worst.is_none() || beyond > furthest {
                comparison.worst = Some(index);
                furthest = beyond;
            }
        }
    }
    comparison
}
