//! The sizes of a two-dimensional convolution, and which of its numbers stands where.

use crate::runtime::facts::codec::{Fields, named};

/// A convolution (cross-correlation, as networks mean it). Pairs are height first, then width.
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
    pub pad: [usize; 2],
    /// Step between two positions of the filter.
    pub stride: [usize; 2],
    /// Step between two numbers that the filter takes: 1 leaves none out.
    pub dilation: [usize; 2],
    /// Into how many parts the channels fall that know nothing of each other.
    pub groups: usize,
}

impl Shape {
    /// What goes in: images, channels, height, width.
    pub const fn x(&self) -> [usize; 4] {
        [self.n, self.c, self.h, self.w]
    }

    /// The filters: channels that come out, channels of one group that go in, height, width.
    pub fn filter(&self) -> [usize; 4] {
        [self.k, quotient(self.c, self.groups), self.r, self.s]
    }

    /// What comes out: images, channels, height, width.
    pub fn y(&self) -> [usize; 4] {
        let ([pad_h, pad_w], [step_h, step_w]) = (self.pad, self.stride);
        let [wide_h, wide_w] = self.dilation;
        let out = |size: usize, pad: usize, filter: usize, wide: usize, step: usize| {
            let reach = filter.saturating_sub(1) * wide + 1;
            (size + 2 * pad)
                .checked_sub(reach)
                .map_or(0, |steps| quotient(steps, step) + 1)
        };
        [
            self.n,
            self.k,
            out(self.h, pad_h, self.r, wide_h, step_h),
            out(self.w, pad_w, self.s, wide_w, step_w),
        ]
    }
}

/// The order in which a tensor's numbers stand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Channel by channel.
    Nchw,
    /// All channels of a place side by side.
    Nhwc,
}

named!(Layout {
    Nchw = "NCHW",
    Nhwc = "NHWC",
});

impl Layout {
    /// Brings numbers from NCHW order into this one.
    pub fn arrange(self, dims: [usize; 4], values: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; values.len()];
        for (value, to) in values.iter().zip(self.offsets(dims)) {
            if let Some(slot) = out.get_mut(to) {
                *slot = *value;
            }
        }
        out
    }

    /// Brings numbers from this order into NCHW. One that is missing is not a number.
    pub fn restore(self, dims: [usize; 4], values: &[f32]) -> Vec<f32> {
        let mut out = Vec::with_capacity(values.len());
        for from in &self.offsets(dims) {
            out.push(values.get(*from).copied().unwrap_or(f32::NAN));
        }
        out
    }

    /// How far two neighbours stand apart, for each of the four dimensions.
    pub fn strides(self, [_, b, c, d]: [usize; 4]) -> [usize; 4] {
        match self {
            Layout::Nchw => [b * c * d, c * d, d, 1],
            Layout::Nhwc => [c * d * b, 1, d * b, b],
        }
    }

    /// For each number in NCHW order, its place in this one.
    fn offsets(self, [a, b, c, d]: [usize; 4]) -> Vec<usize> {
        let mut places = Vec::with_capacity(a * b * c * d);
        for i in 0..a {
            for j in 0..b {
                for k in 0..c {
                    for l in 0..d {
                        places.push(match self {
                            Layout::Nchw => ((i * b + j) * c + k) * d + l,
                            Layout::Nhwc => ((i * c + k) * d + l) * b + j,
                        });
                    }
                }
            }
        }
        places
    }
}

/// How many numbers there are.
pub fn count(dims: [usize; 4]) -> usize {
    dims.iter().product()
}

/// The four indices of a number in NCHW order.
pub fn indices(dims: [usize; 4], index: usize) -> [usize; 4] {
    let [_, b, c, d] = dims;
    let (rest, l) = divide(index, d);
    let (rest, k) = divide(rest, c);
    let (i, j) = divide(rest, b);
    [i, j, k, l]
}

/// `2x8x14x14`
pub fn dimensions(numbers: [usize; 4]) -> String {
    let [a, b, c, d] = numbers;
    format!("{a}x{b}x{c}x{d}")
}

/// `2x1`, or `2` if both are the same.
pub fn pair([height, width]: [usize; 2]) -> String {
    if height == width {
        height.to_string()
    } else {
        format!("{height}x{width}")
    }
}

/// Quotient and remainder. Written so that no division by 0, and with it no panic, can be compiled in.
pub fn divide(number: usize, by: usize) -> (usize, usize) {
    (quotient(number, by), number.checked_rem(by).unwrap_or(0))
}

/// A quotient, 0 where there is none.
pub fn quotient(number: usize, by: usize) -> usize {
    number.checked_div(by).unwrap_or(0)
}
