//! GPU architectures: the compute capability of a device, and the target of device code.

use crate::runtime::facts::codec::parsed;
use std::fmt;

/// A compute capability: 8.6, 12.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// The number before the point.
    pub major: u32,
    /// The number after the point.
    pub minor: u32,
}

impl ComputeCapability {
    /// Creates the compute capability `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Creates a compute capability from the number in `sm_86` or `sm_120`: the last digit is the minor.
    pub const fn from_number(number: u32) -> Self {
        Self::new(number / 10, number % 10)
    }

    /// Returns the number in `sm_86` or `sm_120`.
    pub const fn number(self) -> u32 {
        self.major * 10 + self.minor
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The letter after the number of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Suffix {
    /// No letter: later GPUs are supported too.
    None,
    /// `f`: family-specific, the same major and this minor or later.
    Family,
    /// `a`: architecture-specific, only this compute capability.
    Arch,
}

/// The kind of device code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Code {
    /// Machine code (SASS, in a cubin): `sm_86`.
    Machine,
    /// PTX, which the driver compiles for the GPU of the machine: `compute_86`.
    Ptx,
}

impl Suffix {
    pub(crate) fn letter(self) -> &'static str {
        match self {
            Suffix::None => "",
            Suffix::Family => "f",
            Suffix::Arch => "a",
        }
    }
}

/// A piece of device code in a fatbin. The order is numeric: 9.0 before 10.0, machine code before PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The compute capability that the code was compiled for.
    pub capability: ComputeCapability,
    /// The letter after the number, if any.
    pub suffix: Suffix,
    /// Machine code or PTX.
    pub code: Code,
}

impl Target {
    /// Parses a target as it is printed: `sm_90a`, `compute_120f`.
    pub fn parse(word: &str) -> Option<Self> {
        let (code, rest) = match word.strip_prefix("sm_") {
            Some(rest) => (Code::Machine, rest),
            None => (Code::Ptx, word.strip_prefix("compute_")?),
        };
        let (capability, suffix) = Self::parse_number(rest)?;
        Some(Self {
            capability,
            suffix,
            code,
        })
    }

    /// Parses the number of a target, with or without a point, and its suffix: `86`, `8.6`, `90a`, `12.0f`.
    pub(crate) fn parse_number(text: &str) -> Option<(ComputeCapability, Suffix)> {
        let (suffix, number) = match (text.strip_suffix('a'), text.strip_suffix('f')) {
            (Some(number), _) => (Suffix::Arch, number),
            (_, Some(number)) => (Suffix::Family, number),
            _ => (Suffix::None, text),
        };
        let (major, minor) = number.split_at_checked(number.len().checked_sub(1)?)?;
        let major = major.strip_suffix('.').unwrap_or(major);
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_valid = major.len() <= 2 && !major.starts_with('0') && is_number(major);
        let (major, minor) = (parsed(major)?, parsed(minor).filter(|_| is_number(minor))?);
        is_valid.then_some((ComputeCapability::new(major, minor), suffix))
    }

    /// Parses targets with spaces between them. Words that are no targets are skipped.
    pub fn parse_all(words: &str) -> Vec<Self> {
        let mut targets = Vec::new();
        for word in words.split_whitespace() {
            if let Some(target) = Self::parse(word) {
                targets.push(target);
            }
        }
        targets
    }

    /// Returns `true` if a device of this compute capability can run the code. For PTX, the driver must also support
    /// the PTX version. The rule agrees with `ptxas` on which PTX target compiles to which machine code, and with
    /// NVIDIA's promise that machine code runs on the same major with the same minor or later.
    pub fn runs_on(self, device: ComputeCapability) -> bool {
        // CUDA 13 renamed one GPU from 10.1 to 11.0. It was never in the family of 10.0.
        const OLD: ComputeCapability = ComputeCapability::new(10, 1);
        const NEW: ComputeCapability = ComputeCapability::new(11, 0);
        let renamed = self.capability == OLD && device == NEW;
        let same_major =
            self.capability.major == device.major && self.capability.minor <= device.minor;
        match (self.suffix, self.code) {
            _ if renamed || self.capability == device => true,
            (Suffix::Arch, _) => false,
            (Suffix::Family, _) => same_major && self.capability != OLD && device != OLD,
            (Suffix::None, Code::Machine) => same_major,
            (Suffix::None, Code::Ptx) => self.capability <= device,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.code {
            Code::Machine => "sm_",
            Code::Ptx => "compute_",
        };
        let letter = self.suffix.letter();
        write!(f, "{}{}{}", prefix, self.capability.number(), letter)
    }
}
