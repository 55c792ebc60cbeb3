//! The function table of a cuDNN that is linked into the program, in the generated file.
//!
//! A loader cannot find these functions by name. The table is in assembly, because a Rust declaration that differs from
//! the one in the program's own bindings would cause a warning.

use crate::runtime::facts::Built;
use std::fmt::Write;

/// The systems that the guard supports: it contains their structures and signal numbers.
pub const KNOWN: &str = "all(target_os = \"linux\", target_env = \"gnu\", any(target_arch = \"x86_64\", target_arch = \"aarch64\"))";
/// Functions of every version since 8 that the guard calls without a GPU.
const ALWAYS: &[&str] = &["cudnnGetVersion", "cudnnGetCudartVersion"];
/// Functions since cuDNN 9.0.
const SINCE_9: &[&str] = &["cudnnGetLastErrorString"];
/// Functions that a convolution calls.
const CONVOLUTION: &[&str] = &[
    "cudnnCreate",
    "cudnnDestroy",
    "cudnnCreateTensorDescriptor",
    "cudnnSetTensor4dDescriptor",
    "cudnnDestroyTensorDescriptor",
    "cudnnCreateFilterDescriptor",
    "cudnnSetFilter4dDescriptor",
    "cudnnDestroyFilterDescriptor",
    "cudnnCreateConvolutionDescriptor",
    "cudnnSetConvolution2dDescriptor",
    "cudnnSetConvolutionMathType",
    "cudnnDestroyConvolutionDescriptor",
    "cudnnCreateActivationDescriptor",
    "cudnnSetActivationDescriptor",
    "cudnnDestroyActivationDescriptor",
    "cudnnGetConvolutionForwardAlgorithm_v7",
    "cudnnGetConvolutionForwardWorkspaceSize",
    "cudnnGetConvolutionBackwardDataWorkspaceSize",
    "cudnnGetConvolutionBackwardFilterWorkspaceSize",
    "cudnnConvolutionForward",
    "cudnnConvolutionBackwardData",
    "cudnnConvolutionBackwardFilter",
    "cudnnConvolutionBiasActivationForward",
    "cudnnBackendCreateDescriptor",
    "cudnnBackendDestroyDescriptor",
    "cudnnBackendFinalize",
    "cudnnBackendSetAttribute",
    "cudnnBackendGetAttribute",
    "cudnnBackendExecute",
];

/// Returns the module of the generated file, which is compiled only on supported systems.
pub fn linked_in(built: &Built) -> String {
    let mut names = ALWAYS.to_vec();
    if built.cudnn.is_some_and(|version| version.major >= 9) {
        names.extend(SINCE_9);
    }
    if built.convolution {
        names.extend(CONVOLUTION);
    }
    // Several crates of a program may have a guard, and names in assembly are global.
    let package = built.package.as_deref().unwrap_or_default();
    let mut table = "cudnn_guard_functions_".to_string();
    for c in package.chars() {
        table.push(if c.is_ascii_alphanumeric() { c } else { '_' });
    }
    let count = names.len();
    let mut out = format!(
        "#[cfg({KNOWN})]\n#[allow(dead_code)]\nmod linked_in {{\n\
         use super::runtime::LinkedIn;\n\
         unsafe extern \"C\" {{\n    \
         #[link_name = {table:?}]\n    static FUNCTIONS: [usize; {count}];\n}}\n\
         static NAMES: [&str; {count}] = {names:?};\n\
         // SAFETY: the table below contains these functions in this order, and nothing writes to it.\n\
         pub static LINKED_IN: LinkedIn = unsafe {{ LinkedIn::new(&NAMES, &FUNCTIONS) }};\n\
         std::arch::global_asm!(\n    \
         \".pushsection .data.rel.ro.cudnn_guard, \\\"aw\\\"\",\n    \".balign 8\",\n    \
         \".globl {table}\",\n    \".hidden {table}\",\n    \"{table}:\",\n"
    );
    for name in names {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "    \".quad {name}\",");
    }
    out.push_str("    \".popsection\"\n);\n}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use glob::Pattern;
    use std::fs;

    /// The checks of sub-libraries are only called if there are any.
    #[test]
    fn the_table_has_every_function_that_the_guard_calls() {
        let mut called = 0;
        let directory = Pattern::escape(env!("CARGO_MANIFEST_DIR")) + "/build-support/guard";
        for path in glob::glob(&format!("{directory}/**/*.rs")).unwrap() {
            let path = path.unwrap();
            let source = fs::read_to_string(&path).unwrap();
            for literal in source.split('"').skip(1).step_by(2) {
                let rest = literal.strip_prefix("cudnn").unwrap_or_default();
                let is_function = rest.starts_with(char::is_uppercase)
                    && rest
                        .chars()
                        .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
                if !is_function || rest.ends_with("VersionCheck") {
                    continue;
                }
                called += 1;
                let known = [ALWAYS, SINCE_9, CONVOLUTION].concat().contains(&literal);
                assert!(known, "{literal} in {}", path.display());
            }
        }
        assert!(called > 25, "{called}");
    }
}
