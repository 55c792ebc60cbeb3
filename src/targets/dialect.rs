//! The dialects of target lists. Most words mean the same in all of them, but a bare number does not.

pub mod flag;
#[cfg(test)]
mod properties;

use crate::model::{Gencode, Pattern, pattern};
use crate::runtime::facts::{Code, ComputeCapability, Suffix, Target};
use crate::targets::gpu_names::{self, NamedGpu};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The build script and `CUDNN_GUARD_ARCHS`, where `86` is only machine code.
    Ours,
    /// `CUDAARCHS`, where `86` is machine code and PTX
    /// (<https://cmake.org/cmake/help/latest/prop_tgt/CUDA_ARCHITECTURES.html>).
    CMake,
    /// `TORCH_CUDA_ARCH_LIST`, where `8.6` is machine code and `8.6+PTX` is both.
    Torch,
    /// `CUDA_COMPUTE_CAP` of candle and other crates, where `86` is machine code.
    ComputeCap,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// A single compute capability.
    Targets(Vec<Gencode>),
    /// A generation: machine code for those of its GPUs that nvcc supports, and PTX of the last one if requested.
    Generation {
        /// Its GPUs, in numeric order.
        capabilities: Vec<ComputeCapability>,
        ptx: bool,
    },
    /// Machine code for the GPUs of this machine.
    Native,
    Auto,
    /// Machine code for all targets that nvcc supports, and PTX for later GPUs.
    All,
    /// `all-major`: the first capability of each major.
    AllMajor,
}

/// Parses a list that is separated by spaces, commas or semicolons. The error is the first invalid word.
pub fn read(dialect: Dialect, text: &str) -> Result<Vec<Word>, &str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches(is_gap);
    while !rest.is_empty() {
        let (word, length) = next(dialect, rest)?;
        words.push(word);
        let behind = rest.get(length..).unwrap_or_default();
        rest = behind.trim_start_matches(is_gap);
    }
    Ok(words)
}

fn is_gap(c: char) -> bool {
    c.is_whitespace() || c == ',' || c == ';'
}

/// Parses the first word and returns it with its length in the text.
fn next(dialect: Dialect, text: &str) -> Result<(Word, usize), &str> {
    if text.starts_with('-') {
        let length = flag::length(text);
        let flag_text = text.get(..length).unwrap_or(text);
        let word = flag::read(flag_text).ok_or_else(|| flag_text.trim_end())?;
        return Ok((word, length));
    }
    let length = text.find(is_gap).unwrap_or(text.len());
    let word = text.get(..length).unwrap_or(text);
    if let Some(read) = read_word(dialect, &word.to_ascii_lowercase()) {
        return Ok((read, length));
    }
    // A name may consist of several words: `RTX 4090`.
    let (mut longest, mut start) = (Err(word), 0);
    let gaps = text.match_indices(is_gap).chain([(text.len(), "")]);
    for (end, gap) in gaps.take(8) {
        let name = text.get(..end).unwrap_or(text);
        let last = text.get(start..end).unwrap_or_default();
        start = end + gap.len();
        let is_target = read_word(dialect, &last.to_ascii_lowercase()).is_some();
        let is_name = |word: &&str| !word.contains(|c: char| c.is_ascii_digit());
        if let Some(found) = read_name(dialect, name) {
            longest = Ok((found, end));
        } else if !is_target && longest.as_ref().is_err_and(is_name) {
            // The first words of an unknown name: `RTX` of `RTX 4095`.
            longest = Err(name);
        }
        if [",", ";"].contains(&gap) {
            break;
        }
    }
    longest
}

fn read_name(dialect: Dialect, name: &str) -> Option<Word> {
    let name = name.to_ascii_lowercase();
    let (name, ptx) = match name.strip_suffix("+ptx") {
        Some(name) => (name, true),
        // PyTorch's names imply PTX of the last target.
        None => (name.as_str(), dialect == Dialect::Torch),
    };
    Some(match gpu_names::lookup(name)? {
        NamedGpu::Generation(capabilities) => Word::Generation { capabilities, ptx },
        NamedGpu::Product(capability) => {
            let codes: &[Code] = if ptx { BOTH } else { &[Code::Machine] };
            Word::Targets(targets(capability, Suffix::None, codes))
        }
    })
}

const BOTH: &[Code] = &[Code::Machine, Code::Ptx];

fn targets(capability: ComputeCapability, suffix: Suffix, codes: &[Code]) -> Vec<Gencode> {
    let mut gencodes = Vec::new();
    for &code in codes {
        gencodes.push(Gencode::plain(Target {
            capability,
            suffix,
            code,
        }));
    }
    gencodes
}

fn read_word(dialect: Dialect, word: &str) -> Option<Word> {
    match word {
        "native" => return Some(Word::Native),
        "auto" => return Some(Word::Auto),
        "all" => return Some(Word::All),
        "all-major" | "common" => return Some(Word::AllMajor),
        _ => {}
    }
    // `sm_90a`, `8.6(8.0)`, `86-virtual`, `9.0+PTX`
    static TARGET: Pattern =
        Pattern::new(|| pattern(r"^(sm_|compute_)?(.+?)(?:\((.+)\))?(-real|-virtual|\+ptx)?$"));
    let found = TARGET.captures(word)?;
    let part = |index| found.get(index).map(|part| part.as_str());
    let codes: &[Code] = match (part(1).unwrap_or_default(), part(4).unwrap_or_default()) {
        ("", "") if dialect == Dialect::CMake => BOTH,
        ("" | "sm_", "") | ("", "-real") => &[Code::Machine],
        ("compute_", "") | ("", "-virtual") => &[Code::Ptx],
        ("" | "sm_", "+ptx") => BOTH,
        _ => return None,
    };
    let (capability, suffix) = Target::parse_number(part(2)?)?;
    let mut read = targets(capability, suffix, codes);
    if let Some(via) = part(3) {
        // PTX cannot be compiled from other PTX.
        if codes != [Code::Machine] {
            return None;
        }
        let (capability, suffix) = Target::parse_number(via)?;
        let via = &mut read.first_mut()?.via;
        (via.capability, via.suffix) = (capability, suffix);
    }
    Some(Word::Targets(read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_an_invalid_word() {
        for word in [
            "8",
            "8.60",
            "8.",
            ".6",
            "08",
            "0",
            "1000",
            "8.6x",
            "86b",
            "sm_",
            "sm86",
            "compute_",
            "-real",
            "+PTX",
            "sm_86-virtual",
            "compute_86-real",
            "compute_86+PTX",
            "a",
            "f",
            "٨٦",
            "8.6.1",
            "-86",
            "+86",
            "native+PTX",
            "8.6(8.0)+PTX",
            "compute_86(80)",
            "8.6(8.0",
            "8.6()",
            "lto_80",
            "-code=sm_80",
            "Voodoo",
            "90aa",
            "sm_sm_86",
        ] {
            let text = format!("80 {word} 90");
            assert_eq!(read(Dialect::Ours, &text), Err(word));
        }
    }

    /// An environment variable may contain four times as many names.
    #[test]
    fn a_long_list_of_names_is_parsed_quickly() {
        let start = std::time::Instant::now();
        let text = "T4 ".repeat(10_000);
        let count = read(Dialect::Ours, &text).map(|words| words.len());
        assert_eq!(count, Ok(10_000));
        assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    }
}
