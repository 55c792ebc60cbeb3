//! Which parts of a cuDNN a forward convolution opens: the build and the program look for the same.

const OF_9: &[&str] = &[
    "graph",
    "ops",
    "cnn",
    "heuristic",
    "engines_precompiled",
    "engines_runtime_compiled",
];
const OF_8: &[&str] = &["ops_infer", "cnn_infer"];
/// What is shipped for `CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY`.
pub const JIT: &[&str] = &["graph", "engines_runtime_compiled"];

/// The parts by name, for a cuDNN of this major; none where its parts are not known.
pub fn of(major: u32, jit_only: bool) -> Option<&'static [&'static str]> {
    match (major, jit_only) {
        (9, true) => Some(JIT),
        (9, false) => Some(OF_9),
        (8, _) => Some(OF_8),
        _ => None,
    }
}
