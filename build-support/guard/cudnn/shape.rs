//! The sizes of a two-dimensional convolution, and the memory layouts of its tensors.

use crate::runtime::facts::Fields;
use crate::runtime::facts::codec::named;

/// A convolution (a cross-correlation, as in neural networks). Pairs are height first, then width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The dimensions of the input: images, channels, height, width.
    pub x: [usize; 4],
    /// The dimensions of the filters: output channels, input channels, height, width.
    pub w: [usize; 4],
    /// Zeros on each side.
    pub pad: [usize; 2],
    /// Step between two positions of the filter.
    pub stride: [usize; 2],
}

impl Shape {
    /// Returns the dimensions of the output: images, channels, height, width.
    pub fn y(&self) -> [usize; 4] {
        let ([n, _, height, width], [k, _, filter_h, filter_w]) = (self.x, self.w);
        let ([pad_h, pad_w], [step_h, step_w]) = (self.pad, self.stride);
        let out = |size: usize, pad: usize, filter: usize, step: usize| {
            (size + 2 * pad)
                .checked_sub(filter)
                .map_or(0, |steps| quotient(steps, step) + 1)
        };
        [
            n,
            k,
            out(height, pad_h, filter_h, step_h),
            out(width, pad_w, filter_w, step_w),
        ]
    }
}

/// The order of a tensor's numbers in memory. The number is the `cudnnTensorFormat_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Channel by channel.
    Nchw = 0,
    /// All channels of a pixel side by side.
    Nhwc = 1,
}

named!(Layout {
    Nchw = "NCHW",
    Nhwc = "NHWC",
});

impl Layout {
    /// Reorders numbers from NCHW to this layout.
    pub fn arrange(self, dims: [usize; 4], values: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; values.len()];
        for (value, to) in values.iter().zip(self.offsets(dims)) {
            if let Some(slot) = out.get_mut(to) {
                *slot = *value;
            }
        }
        out
    }

    /// Reorders numbers from this layout to NCHW. A missing number becomes NaN.
    pub fn restore(self, dims: [usize; 4], values: &[f32]) -> Vec<f32> {
        let value = |from| values.get(from).copied().unwrap_or(f32::NAN);
        self.offsets(dims).into_iter().map(value).collect()
    }

    /// Returns the distance of two neighbors in memory, for each of the four dimensions.
    pub fn strides(self, [_, b, c, d]: [usize; 4]) -> [usize; 4] {
        match self {
            Layout::Nchw => [b * c * d, c * d, d, 1],
            Layout::Nhwc => [c * d * b, 1, d * b, b],
        }
    }

    /// Returns the offset in this layout of each number in NCHW order.
    fn offsets(self, dims: [usize; 4]) -> Vec<usize> {
        let ([a, b, c, d], [of_a, of_b, of_c, of_d]) = (dims, self.strides(dims));
        let mut offsets = Vec::with_capacity(a * b * c * d);
        for i in 0..a {
            for j in 0..b {
                for k in 0..c {
                    for l in 0..d {
                        offsets.push(i * of_a + j * of_b + k * of_c + l * of_d);
                    }
                }
            }
        }
        offsets
    }
}

pub fn count(dims: [usize; 4]) -> usize {
    dims.iter().product()
}

/// Returns the four indices of a number in NCHW order.
pub fn indices(dims: [usize; 4], index: usize) -> [usize; 4] {
    let [_, b, c, d] = dims;
    let (rest, l) = divide(index, d);
    let (rest, k) = divide(rest, c);
    let (i, j) = divide(rest, b);
    [i, j, k, l]
}

/// Formats dimensions: `2x8x14x14`.
pub fn dimensions(numbers: [usize; 4]) -> String {
    let [a, b, c, d] = numbers;
    format!("{a}x{b}x{c}x{d}")
}

/// Formats a pair: `2x1`, or `2` if both are the same.
pub fn pair([height, width]: [usize; 2]) -> String {
    if height == width {
        height.to_string()
    } else {
        format!("{height}x{width}")
    }
}

/// Returns quotient and remainder, without code for a panic on a division by 0.
pub fn divide(number: usize, by: usize) -> (usize, usize) {
    (quotient(number, by), number.checked_rem(by).unwrap_or(0))
}

/// Returns the quotient, or 0 for a division by 0.
fn quotient(number: usize, by: usize) -> usize {
    number.checked_div(by).unwrap_or(0)
}
