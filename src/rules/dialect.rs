//! The ways in which people write lists of GPU targets. Most words mean the same everywhere; a bare number does not.

use crate::model::arch::{Code, ComputeCapability, Suffix, Target};

/// Whose words they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The build script's and `CUDNN_GUARD_ARCHS`: `86` is machine code; PTX is made where it is written.
    Ours,
    /// `CUDAARCHS`: `86` is machine code and PTX (<https://cmake.org/cmake/help/latest/prop_tgt/CUDA_ARCHITECTURES.html>).
    CMake,
    /// `TORCH_CUDA_ARCH_LIST`: `8.6` is machine code, `8.6+PTX` is both.
    Torch,
    /// `CUDA_COMPUTE_CAP` of candle and its kin: `86` is machine code.
    ComputeCap,
}

/// One word of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// One compute capability.
    Targets(Vec<Target>),
    /// Machine code for the GPUs of this machine.
    Native,
    /// Machine code for all that nvcc can do, and PTX for what comes after.
    All,
    /// The same for the first of each major.
    AllMajor,
}

/// Reads a list with spaces, commas or semicolons between its words; the error is the word that cannot be read.
pub fn read(dialect: Dialect, text: &str) -> Result<Vec<Word>, &str> {
    text.split(|c: char| c.is_whitespace() || c == ',' || c == ';')
        .filter(|word| !word.is_empty())
        .map(|word| read_word(dialect, &word.to_ascii_lowercase()).ok_or(word))
        .collect()
}

fn read_word(dialect: Dialect, word: &str) -> Option<Word> {
    match word {
        "native" => return Some(Word::Native),
        "all" => return Some(Word::All),
        "all-major" => return Some(Word::AllMajor),
        _ => {}
    }
    let bare: &[Code] = match dialect {
        Dialect::CMake => &[Code::Machine, Code::Ptx],
        Dialect::Ours | Dialect::Torch | Dialect::ComputeCap => &[Code::Machine],
    };
    let (rest, codes): (&str, &[Code]) = if let Some(rest) = word.strip_prefix("compute_") {
        (rest, &[Code::Ptx])
    } else if let Some(rest) = word.strip_suffix("-virtual") {
        (rest, &[Code::Ptx])
    } else if let Some(rest) = word.strip_suffix("-real") {
        (rest, &[Code::Machine])
    } else if let Some(rest) = word.strip_suffix("+ptx") {
        (
            rest.strip_prefix("sm_").unwrap_or(rest),
            &[Code::Machine, Code::Ptx],
        )
    } else if let Some(rest) = word.strip_prefix("sm_") {
        (rest, &[Code::Machine])
    } else {
        (word, bare)
    };
    let (number, suffix) = if let Some(number) = rest.strip_suffix('a') {
        (number, Suffix::Arch)
    } else if let Some(number) = rest.strip_suffix('f') {
        (number, Suffix::Family)
    } else {
        (rest, Suffix::None)
    };
    let capability = read_capability(number)?;
    let target = |code: &Code| Target {
        capability,
        suffix,
        code: *code,
    };
    Some(Word::Targets(codes.iter().map(target).collect()))
}

/// `86`, `8.6`, `120`, `12.0`.
fn read_capability(text: &str) -> Option<ComputeCapability> {
    let digits: String = match text.split_once('.') {
        Some((major, minor)) if minor.len() == 1 => format!("{major}{minor}"),
        Some(_) => return None,
        None => text.to_string(),
    };
    let sound = (2..=3).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0');
    sound
        .then(|| digits.parse().ok().map(ComputeCapability::from_number))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(dialect: Dialect, text: &str, wanted: &str) {
        let words = read(dialect, text).unwrap_or_else(|word| panic!("{word:?} of {text:?}"));
        let texts: Vec<String> = words
            .iter()
            .flat_map(|word| match word {
                Word::Targets(targets) => targets.iter().map(Target::to_string).collect(),
                other => vec![format!("{other:?}")],
            })
            .collect();
        assert_eq!(texts.join(" "), wanted, "{dialect:?} {text:?}");
    }

    #[test]
    fn every_spelling_of_a_target() {
        for (text, wanted) in [
            ("86", "sm_86"),
            ("8.6", "sm_86"),
            ("120", "sm_120"),
            ("12.0", "sm_120"),
            ("90a", "sm_90a"),
            ("9.0a", "sm_90a"),
            ("100f", "sm_100f"),
            ("sm_86", "sm_86"),
            ("SM_90A", "sm_90a"),
            ("compute_86", "compute_86"),
            ("compute_90a", "compute_90a"),
            ("86-real", "sm_86"),
            ("86-virtual", "compute_86"),
            ("8.6+PTX", "sm_86 compute_86"),
            ("sm_86+ptx", "sm_86 compute_86"),
            ("native", "Native"),
            ("all", "All"),
            ("All-Major", "AllMajor"),
        ] {
            reads(Dialect::Ours, text, wanted);
        }
    }

    #[test]
    fn every_separator() {
        reads(
            Dialect::Ours,
            " 80;8.6,, 90\t100\n",
            "sm_80 sm_86 sm_90 sm_100",
        );
        reads(Dialect::Ours, " ;, ", "");
    }

    #[test]
    fn a_bare_number_is_what_the_dialect_makes_of_it() {
        reads(Dialect::Ours, "86", "sm_86");
        reads(
            Dialect::CMake,
            "86;90a",
            "sm_86 compute_86 sm_90a compute_90a",
        );
        reads(Dialect::CMake, "86-real;90-virtual", "sm_86 compute_90");
        reads(Dialect::Torch, "8.6;9.0+PTX", "sm_86 sm_90 compute_90");
        reads(Dialect::ComputeCap, "86", "sm_86");
        reads(Dialect::ComputeCap, "8.6", "sm_86");
    }

    #[test]
    fn names_the_word_that_is_no_target() {
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
            "Ampere",
            "native+PTX",
            "90aa",
            "sm_sm_86",
        ] {
            let text = format!("80 {word} 90");
            assert_eq!(read(Dialect::Ours, &text), Err(word));
        }
    }
}
