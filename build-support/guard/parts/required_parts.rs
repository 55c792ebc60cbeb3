//! Which parts of a cuDNN a forward convolution opens, and which a program can name on top: the build and the program
//! look for the same.

use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;

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

/// That the parts in a directory are of different releases: an error where a convolution needs those that are. `files` is
/// what all of them are called.
pub fn mixed_finding(dir: &str, is_needed: bool, parts: &[String], files: &str) -> Finding {
    let summary = if is_needed {
        format!(
            "cuDNN at `{}` is put together from parts of different releases",
            dir
        )
    } else {
        format!(
            "a part of the cuDNN at `{}` that no convolution uses is of another release",
            dir
        )
    };
    Finding::new(
        FindingId::PartsMixed,
        Severity::error_if(is_needed),
        summary,
    )
    .with_lines("parts", parts)
    .help(format!(
        "remove all `{}` files from `{}` and install one cuDNN there, whole",
        files, dir
    ))
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
