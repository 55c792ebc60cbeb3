//! The data types of the convolutions. The two 16-bit types are converted here, since the standard library has neither.

use crate::runtime::facts::codec::named;
use crate::runtime::facts::{ComputeCapability, Fields};

/// A number format and its arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataType {
    /// Single precision throughout.
    F32,
    /// Single precision in memory, ten bits of fraction in each factor.
    Tf32,
    F16,
    Bf16,
}

named!(DataType {
    F32 = "f32",
    Tf32 = "tf32",
    F16 = "f16",
    Bf16 = "bf16",
});

impl DataType {
    /// Returns the bits of a number's significand in memory, including the hidden bit.
    pub fn precision(self) -> i32 {
        match self {
            DataType::F32 | DataType::Tf32 => 24,
            DataType::F16 => 11,
            DataType::Bf16 => 8,
        }
    }

    /// Returns `true` if a number takes two bytes.
    pub fn is_short(self) -> bool {
        matches!(self, DataType::F16 | DataType::Bf16)
    }

    /// Returns the size of `count` numbers in bytes.
    pub fn bytes(self, count: usize) -> usize {
        count.saturating_mul(if self.is_short() { 2 } else { 4 })
    }

    /// Returns the lowest compute capability that supports the type.
    pub fn since(self) -> ComputeCapability {
        match self {
            DataType::F32 | DataType::Tf32 => ComputeCapability::new(0, 0),
            DataType::F16 => ComputeCapability::new(5, 3),
            DataType::Bf16 => ComputeCapability::new(8, 0),
        }
    }

    /// Returns `true` if no bit of single precision may be lost.
    pub fn is_strict(self) -> bool {
        self == DataType::F32
    }

    /// Encodes numbers as they are in memory.
    pub fn pack(self, values: &[f32]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes(values.len()));
        for value in values {
            match self {
                DataType::F32 | DataType::Tf32 => bytes.extend_from_slice(&value.to_ne_bytes()),
                DataType::F16 => bytes.extend_from_slice(&to_half(*value).to_ne_bytes()),
                DataType::Bf16 => bytes.extend_from_slice(&to_bfloat16(*value).to_ne_bytes()),
            }
        }
        bytes
    }

    /// Decodes numbers from memory.
    pub fn unpack(self, bytes: &[u8]) -> Vec<f32> {
        let mut numbers = Vec::new();
        for bytes in bytes.chunks(self.bytes(1)) {
            numbers.push(match (self, bytes) {
                (DataType::F32 | DataType::Tf32, [a, b, c, d]) => {
                    f32::from_ne_bytes([*a, *b, *c, *d])
                }
                (DataType::F16, [a, b]) => from_half(u16::from_ne_bytes([*a, *b])),
                (DataType::Bf16, [a, b]) => from_bfloat16(u16::from_ne_bytes([*a, *b])),
                _ => continue,
            });
        }
        numbers
    }
}

/// Rounds to the nearest half, ties to even.
pub fn to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = bits >> 16 & 0x8000;
    let magnitude = bits & 0x7FFF_FFFF;
    let half = if magnitude > 0x7F80_0000 {
        // Not a number, and it must not become infinite.
        0x7E00 | magnitude >> 13 & 0x3FF
    } else if magnitude >= 0x4780_0000 {
        0x7C00
    } else if magnitude < 0x3880_0000 {
        // Below 2^-14 the steps of a half are 2^-24. Adding 2^23 leaves no bits for a fraction: the sum is rounded.
        let steps = f32::from_bits(magnitude) * 16_777_216.0 + 8_388_608.0;
        (steps - 8_388_608.0) as u32
    } else {
        // The exponent's bias is 15, not 127. A fraction that rounds up to 1 correctly carries into the exponent.
        let rounded = magnitude.wrapping_add(0xFFF + (magnitude >> 13 & 1));
        rounded.wrapping_sub(0x3800_0000) >> 13
    };
    (sign | half) as u16
}

pub fn from_half(half: u16) -> f32 {
    let bits = u32::from(half);
    let (sign, exponent, fraction) = (bits >> 15 << 31, bits >> 10 & 0x1F, bits & 0x3FF);
    match exponent {
        0 => {
            let magnitude = fraction as f32 / 16_777_216.0;
            f32::from_bits(sign | magnitude.to_bits())
        }
        0x1F => f32::from_bits(sign | 0x7F80_0000 | fraction << 13),
        _ => f32::from_bits(sign | exponent.wrapping_add(112) << 23 | fraction << 13),
    }
}

/// Rounds to the nearest bfloat16, ties to even.
pub fn to_bfloat16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16 | 0x40) as u16;
    }
    (bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16) as u16
}

/// Converts a bfloat16, which is the upper half of a single-precision number.
pub fn from_bfloat16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}
