//! The right results of a convolution, computed by plain loops in double precision.

use crate::runtime::convolution::case::Case;
use crate::runtime::cudnn::operation::Operation;
use crate::runtime::cudnn::shape::{count, divide, indices, quotient};
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
    ///
    /// Single precision gets numbers that need all its bits, so that rounding to TF32 shows. The two short formats get
    /// small whole numbers. As long as no sum of their magnitudes exceeds `2^precision`, the format represents every
    /// partial sum exactly, whatever the order and the unit that computes it, and one product too few or too many
    /// changes the result by at least 1.
    pub fn for_case(case: &Case) -> Self {
        let shape = case.shape;
        let (x, w, y) = (count(shape.x()), count(shape.filter()), count(shape.y()));
        if case.data_type.is_short() {
            Self {
                x: whole_numbers(x, 1, 2),
                w: whole_numbers(w, 2, 1),
                y: whole_numbers(y, 3, 1),
                bias: whole_numbers(shape.k, 4, 2),
            }
        } else {
            Self {
                x: numbers(x, 1),
                w: numbers(w, 2),
                y: numbers(y, 3),
                bias: numbers(shape.k, 4),
            }
        }
    }

    /// Creates numbers for a case in a short format whose results need all of its bits.
    ///
    /// All numbers are integers of at least 0, so a result is the sum of its magnitudes. One factor is 1 or 2. The
    /// other factor, and the bias, is `r t / r_max` rounded down, for random `r`. If `M` is the largest sum of
    /// magnitudes that `r` itself results in, `t` is `r_max 2^precision / M`. Then no sum exceeds `2^precision`, and
    /// the largest is close to it. Every partial sum is a whole number up to `2^precision`, which the format represents
    /// exactly. So a result is exact whatever the order of the sums, and however often it is rounded to the format on
    /// the way. In a format with fewer bits, a result that needs all of them is off by at least 1, and the tolerance is
    /// a quarter.
    pub fn filling(case: &Case) -> Self {
        let shape = case.shape;
        let (x, w, y) = (count(shape.x()), count(shape.filter()), count(shape.y()));
        let scaled = |scale: f64| {
            let large = |count, start| {
                let number = |bits| (f64::from(bits) * scale) as f32;
                random(count, start, &number)
            };
            let small = |count, start| random(count, start, &|bits| ((bits >> 14 & 1) + 1) as f32);
            let of_y = case.operation == Operation::BackwardData;
            Self {
                x: large(x, 1),
                w: small(w, 2),
                y: if of_y { large(y, 3) } else { small(y, 3) },
                bias: large(shape.k, 4),
            }
        };
        let mut largest = 1.0_f64;
        for sum in convolve(case, &scaled(1.0)) {
            largest = largest.max(sum.magnitude);
        }
        let mut operands = scaled(2f64.powi(case.data_type.precision()) / largest);
        for numbers in [&mut operands.x, &mut operands.y, &mut operands.bias] {
            for number in numbers {
                *number = number.trunc();
            }
        }
        operands
    }
}

/// Creates numbers between -1 and 1 without a pattern that a shifted or swapped result could share. None is 0, few have
/// a short binary form, and they are the same on every machine.
pub fn numbers(count: usize, start: u32) -> Vec<f32> {
    random(count, start, &|bits| {
        let odd = f64::from(bits | 1);
        (odd / 32_768.0 - 1.0) as f32 * 0.97
    })
}

/// Creates random whole numbers from `-most` to `most`, without 0; `most` is 1 or 2.
fn whole_numbers(count: usize, start: u32, most: u32) -> Vec<f32> {
    random(count, start, &|bits| {
        let magnitude = if bits & 0x4000 == 0 { 1 } else { most };
        let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
        magnitude as f32 * sign
    })
}

/// Creates random numbers of 16 bits each.
fn random(count: usize, start: u32, number: &dyn Fn(u32) -> f32) -> Vec<f32> {
    let mut state = start;
    let mut numbers = Vec::with_capacity(count);
    for _ in 0..count {
        // The linear congruence of "Numerical Recipes"; its upper bits are good enough here.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        numbers.push(number(state >> 16));
    }
    numbers
}

/// A right number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// The sum of the products.
    pub value: f64,
    /// The sum of their magnitudes, to which the tolerance is proportional.
    pub magnitude: f64,
}

/// The operands and the right results of a convolution. They are the same for every API and layout, and for both
/// formats of the same size, except for numbers whose results fill the format.
pub struct Reference {
    case: Case,
    fills: bool,
    pub operands: Operands,
    pub expected: Vec<Expected>,
}

impl Reference {
    /// Returns the reference for a case from `known`, or computes and adds it.
    pub fn get(known: &mut Vec<Rc<Self>>, case: &Case, fills: bool) -> Rc<Self> {
        let key = |case: &Case, fills: bool| {
            let data_type = case.data_type;
            let format = (data_type.is_short(), fills.then_some(data_type));
            (case.operation, case.shape, format)
        };
        for it in known.iter() {
            if key(&it.case, it.fills) == key(case, fills) {
                return Rc::clone(it);
            }
        }
        let operands = if fills {
            Operands::filling(case)
        } else {
            Operands::for_case(case)
        };
        let reference = Rc::new(Self {
            case: *case,
            fills,
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
    let [wide_h, wide_w] = shape.dilation;
    let [filters, channels, _, _] = shape.filter();
    let [_, _, out_h, out_w] = shape.y();
    let filters_of_group = quotient(filters, shape.groups);
    let (ones, others): (&[f32], &[f32]) = match case.operation {
        Operation::Forward | Operation::Fused => (&operands.x, &operands.w),
        Operation::BackwardData => (&operands.y, &operands.w),
        Operation::BackwardFilter => (&operands.x, &operands.y),
    };
    // The steps of the three indices along a line of the filter.
    let (to_step, one_step, other_step) = match case.operation {
        Operation::Forward | Operation::Fused => (0, wide_w, 1),
        Operation::BackwardData => (wide_w, 0, 1),
        Operation::BackwardFilter => (1, wide_w, 0),
    };
    let mut result = vec![Expected::default(); count(case.result())];
    let sums: &mut [Expected] = &mut result;
    for n in 0..shape.n {
        for k in 0..filters {
            let first_channel = quotient(k, filters_of_group) * channels;
            for place in 0..out_h * out_w {
                let (row, column) = divide(place, out_w);
                let y = ((n * filters + k) * out_h + row) * out_w + column;
                // Plain loops without calls, since unoptimized programs run them at every start.
                let (mut c, mut r) = (0, 0);
                while c < channels {
                    // Relative to the padding's edge, so that no number is negative.
                    let (down, mut right) = (row * step_h + r * wide_h, column * step_w);
                    let mut w = ((k * channels + c) * shape.r + r) * shape.s;
                    let end = w + shape.s;
                    while w < end && right < pad_w {
                        w += 1;
                        right += wide_w;
                    }
                    if w < end && down >= pad_h && down < pad_h + shape.h {
                        let image = n * shape.c + first_channel + c;
                        let x = (image * shape.h + down - pad_h) * shape.w + right - pad_w;
                        let (mut to, mut one, mut other) = match case.operation {
                            Operation::Forward | Operation::Fused => (y, x, w),
                            Operation::BackwardData => (x, y, w),
                            Operation::BackwardFilter => (w, x, y),
                        };
                        while w < end
                            && right < pad_w + shape.w
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
                            right += wide_w;
                        }
                    }
                    r += 1;
                    if r == shape.r {
                        (c, r) = (c + 1, 0);
                    }
                }
            }
        }
    }
    if case.operation == Operation::Fused {
        for (index, sum) in sums.iter_mut().enumerate() {
            let [_, k, _, _] = indices(case.result(), index);
            let bias = operands.bias.get(k).map_or(0.0, |bias| f64::from(*bias));
            sum.value = (sum.value + bias).max(0.0);
            sum.magnitude += bias.abs();
        }
    }
    result
}
