//! The right results of a convolution, computed by plain loops in double precision.

use crate::runtime::convolution::{Case, SECOND};
use crate::runtime::cudnn::shape::{count, divide, indices};
use crate::runtime::cudnn::{DataType, Operation};
use std::rc::Rc;

/// The operands of a convolution, in NCHW order; each operation uses two of the first three.
pub struct Operands {
    /// The input.
    pub x: Vec<f32>,
    /// The filters.
    pub w: Vec<f32>,
    /// The gradient of the output.
    pub y: Vec<f32>,
    /// A number for each output channel.
    pub bias: Vec<f32>,
}

impl Operands {
    /// Creates the numbers for a case.
    pub fn for_case(case: &Case) -> Self {
        let shape = case.shape;
        let (x, w, y) = (count(shape.x), count(shape.w), count(shape.y()));
        let kind = Kind::for_case(case);
        // A product has only one large factor: the gradient of the input has no `x`.
        let [of_x, of_w, of_y] = match kind {
            Kind::Large if case.operation == Operation::BackwardData => [LARGE, 2, LARGE],
            Kind::Large => [LARGE, 2, 2],
            Kind::Small | Kind::Fractions => [2, 1, 1],
        };
        Self {
            x: kind.numbers(x, 1, of_x),
            w: kind.numbers(w, 2, of_w),
            y: kind.numbers(y, 3, of_y),
            bias: kind.numbers(shape.w[0], 4, of_x),
        }
    }
}

/// The kind of a convolution's operands.
///
/// As long as no sum of the magnitudes of whole numbers exceeds `2^precision`, a short format represents every partial
/// sum exactly, whatever the order and the unit that computes it, and one product too few or too many changes the
/// result by at least 1.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Numbers that need all bits of single precision, so that rounding to TF32 shows.
    Fractions,
    /// Whole numbers of any sign, for a short format.
    Small,
    /// Positive whole numbers, whose sums need more than the 8 bits of bf16: for f16.
    Large,
}

impl Kind {
    fn for_case(case: &Case) -> Self {
        match case.data_type {
            DataType::F32 | DataType::Tf32 => Kind::Fractions,
            DataType::F16 if case.shape == SECOND => Kind::Large,
            DataType::F16 | DataType::Bf16 => Kind::Small,
        }
    }

    /// Creates random numbers, the same on every machine. Whole numbers have the magnitude 1 or `most`.
    fn numbers(self, count: usize, start: u32, most: u32) -> Vec<f32> {
        let mut state = start;
        let mut numbers = Vec::with_capacity(count);
        for _ in 0..count {
            // The linear congruence of "Numerical Recipes"; its upper bits are good enough here.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let bits = state >> 16;
            let magnitude = if bits & 0x4000 == 0 { 1 } else { most } as f32;
            numbers.push(match self {
                // Between -1 and 1, without a pattern that a shifted or swapped result could share. None is 0, and few
                // have a short binary form.
                Kind::Fractions => (f64::from(bits | 1) / 32_768.0 - 1.0) as f32 * 0.97,
                Kind::Small if bits & 0x8000 != 0 => -magnitude,
                Kind::Small | Kind::Large => magnitude,
            });
        }
        numbers
    }
}

/// The largest of [`Kind::Large`]. In the second shape, the largest sums are between 256 and 2048.
const LARGE: u32 = 12;

/// A right number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// The sum of the products.
    pub value: f64,
    /// The sum of their magnitudes, to which the tolerance is proportional.
    pub magnitude: f64,
}

/// The operands and the right results of a convolution. They are the same for every API and layout, and for formats
/// with the same kind of operands.
pub struct Reference {
    case: Case,
    pub operands: Operands,
    pub expected: Vec<Expected>,
}

impl Reference {
    /// Returns the reference for a case from `known`, or computes and adds it.
    pub fn get(known: &mut Vec<Rc<Self>>, case: &Case) -> Rc<Self> {
        let key = |case: &Case| (case.operation, case.shape, Kind::for_case(case));
        for it in known.iter() {
            if key(&it.case) == key(case) {
                return Rc::clone(it);
            }
        }
        let operands = Operands::for_case(case);
        let reference = Rc::new(Self {
            case: *case,
            expected: convolve(case, &operands),
            operands,
        });
        known.push(Rc::clone(&reference));
        reference
    }
}

/// Convolves in double precision; the result is in NCHW order. Every product of a convolution belongs to a number of
/// `x`, one of `w` and one of `y`: the operations differ only in which of the three is the result.
pub fn convolve(case: &Case, operands: &Operands) -> Vec<Expected> {
    let shape = case.shape;
    let ([pad_h, pad_w], [step_h, step_w]) = (shape.pad, shape.stride);
    let ([images, channels, in_h, in_w], [filters, _, filter_h, filter_w]) = (shape.x, shape.w);
    let [_, _, out_h, out_w] = shape.y();
    let operation = case.operation;
    let [ones, others, _] = operation.operands([&operands.x[..], &operands.w, &operands.y]);
    // The steps of the three indices along a line of the filter.
    let [one_step, other_step, to_step] = operation.operands([1, 1, 0]);
    let mut result = vec![Expected::default(); count(case.result())];
    let sums: &mut [Expected] = &mut result;
    for n in 0..images {
        for k in 0..filters {
            for place in 0..out_h * out_w {
                let (row, column) = divide(place, out_w);
                let y = ((n * filters + k) * out_h + row) * out_w + column;
                // Plain loops without calls, since unoptimized programs run them at every start.
                let (mut c, mut r) = (0, 0);
                while c < channels {
                    // Relative to the padding's edge, so that no number is negative.
                    let (down, mut right) = (row * step_h + r, column * step_w);
                    let mut w = ((k * channels + c) * filter_h + r) * filter_w;
                    let end = w + filter_w;
                    while w < end && right < pad_w {
                        w += 1;
                        right += 1;
                    }
                    if w < end && down >= pad_h && down < pad_h + in_h {
                        let image = n * channels + c;
                        let x = (image * in_h + down - pad_h) * in_w + right - pad_w;
                        let [mut one, mut other, mut to] = operation.operands([x, w, y]);
                        while w < end
                            && right < pad_w + in_w
                            && to < sums.len()
                            && one < ones.len()
                            && other < others.len()
                        {
                            let product = ones[one] as f64 * others[other] as f64;
                            let sum = &mut sums[to];
                            sum.value += product;
                            sum.magnitude += if product < 0.0 { -product } else { product };
                            to += to_step;
                            one += one_step;
                            other += other_step;
                            w += 1;
                            right += 1;
                        }
                    }
                    r += 1;
                    if r == filter_h {
                        (c, r) = (c + 1, 0);
                    }
                }
            }
        }
    }
    if operation == Operation::Fused {
        for (index, sum) in sums.iter_mut().enumerate() {
            let [_, k, _, _] = indices(case.result(), index);
            let bias = operands.bias.get(k).map_or(0.0, |bias| f64::from(*bias));
            sum.value = (sum.value + bias).max(0.0);
            sum.magnitude += bias.abs();
        }
    }
    result
}
