//! Which parts of a cuDNN a forward convolution opens, and which a program can name on top: the build and the program
//! look for the same.

use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;
use std::path::Path;

const OF_9: &[&str] = &[
    "graph",
    "ops",
    "cnn",
    "heuristic",
    "engines_precompiled",
    "engines_runtime_compiled",
    TENSOR_IR,
];
const OF_8: &[&str] = &["ops_infer", "cnn_infer"];
/// What is shipped for `CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY`.
const JIT: &[&str] = &["graph", "engines_runtime_compiled"];
/// Came with 9.21; since then the first descriptor of a convolution fails with status 1008 where it is missing.
pub const TENSOR_IR: &str = "engines_tensor_ir";

/// The parts by name, for a cuDNN of this release; none where the parts of its major are not known.
pub fn part_names(version: Version, jit_only: bool) -> Option<&'static [&'static str]> {
    match (version.major, jit_only) {
        (9, true) => Some(JIT),
        (9, false) if version.minor >= 21 => Some(OF_9),
        (9, false) => OF_9.split_last().map(|(_, earlier)| earlier),
        (8, _) => Some(OF_8),
        _ => None,
    }
}

/// Whether these parts, without the first library, are those of `GRAPH_JIT_ONLY` and no others.
pub fn is_jit_only<'a>(parts: impl Iterator<Item = &'a str>) -> bool {
    let parts: Vec<&str> = parts.collect();
    parts.len() == JIT.len() && parts.iter().all(|part| JIT.contains(part))
}

/// That these files of one directory are of different releases. `all` is what those of a cuDNN are called.
pub fn in_one_folder(
    files: &[(Version, &Path)],
    dir: &str,
    release: Version,
    all: &str,
) -> Finding {
    // Those of another release than most; where that is undecided, than the first library.
    let (mut most, mut odd) = (release, odd_ones(files, release));
    for (version, _) in files {
        let others = odd_ones(files, *version);
        if others.len() < odd.len() {
            (most, odd) = (*version, others);
        }
    }
    let other = odd.first().map_or(most, |file| file.0);
    let mut named = Vec::new();
    for (version, path) in odd {
        if version == other {
            named.push(path);
        }
    }
    let summary = format!(
        "cuDNN {} at `{}` is mixed with {} of {}",
        most,
        dir,
        names(&named),
        other
    );
    Finding::error(FindingId::PartsMixed, summary).help(format!(
        "remove all `{}` files from `{}` and install one cuDNN there, whole",
        all, dir
    ))
}

fn odd_ones<'a>(files: &[(Version, &'a Path)], release: Version) -> Vec<(Version, &'a Path)> {
    let mut odd = Vec::new();
    for file in files {
        if file.0 != release {
            odd.push(*file);
        }
    }
    odd
}

/// Up to three file names, or how many there are.
pub fn names(files: &[&Path]) -> String {
    if files.len() > 3 {
        return format!("{} libraries", files.len());
    }
    let mut names = String::new();
    for (number, file) in files.iter().enumerate() {
        names += match files.len() - number {
            _ if number == 0 => "",
            1 => " and ",
            _ => ", ",
        };
        names += &file.file_name().unwrap_or_default().to_string_lossy();
    }
    names
}

/// The parts that a program can say it needs, as cuDNN 9 and as cuDNN 8 names them.
pub const PARTS: &[&str] = &[
    "adv",
    "cnn",
    "engines_precompiled",
    "engines_runtime_compiled",
    "graph",
    "heuristic",
    "ops",
    "adv_infer",
    "adv_train",
    "cnn_infer",
    "cnn_train",
    "ops_infer",
    "ops_train",
];

/// The part of a cuDNN of this major that is meant: 9 has one part where 8 has one to infer and one to train. None
/// where that major has no such part, or is not known.
pub fn part_name(word: &str, major: u32) -> Option<String> {
    let stem = word
        .strip_suffix("_infer")
        .or_else(|| word.strip_suffix("_train"));
    if !PARTS.contains(&word) {
        return None;
    }
    match (major, stem) {
        (9, stem) => Some(stem.unwrap_or(word).to_string()),
        (8, Some(_)) => Some(word.to_string()),
        (8, None) if matches!(word, "adv" | "cnn" | "ops") => Some(format!("{}_infer", word)),
        _ => None,
    }
}
