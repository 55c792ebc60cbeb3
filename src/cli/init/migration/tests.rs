use super::*;

fn options(script: &str) -> Vec<(usize, String)> {
    let kernels = find(script).expect("a tool");
    let rows = kernels.rows.into_iter();
    rows.map(|row| (row.line, row.option)).collect()
}

#[test]
fn the_rows_of_the_calls_in_a_script_are_found() {
    let script = "\
use cudaforge::KernelBuilder;
fn main() -> cudaforge::Result<()> {
    // KernelBuilder::new().cuda_root(path)
    KernelBuilder::new()
        .with_compute_override_arch(\"sm90_*.cu\", \"90a\")
        .build_lib(out)
}
";
    let kernels = find(script).expect("a tool");
    assert_eq!((kernels.tool, kernels.line), ("cudaforge", 4));
    let row = |line, option: &str, here: &str| Row {
        line,
        option: option.into(),
        here: here.into(),
    };
    assert_eq!(
        kernels.rows,
        [
            row(4, "`KernelBuilder::new()`", "`gpu.kernels()`"),
            row(
                5,
                "`with_compute_override(\"sm90_*.cu\", 90)`, `with_compute_override_arch(\"sm90_*.cu\", \"90a\")`",
                "`exclude(\"sm90_*.cu\")`, and a second `gpu.kernels().files(\"src/sm90_*.cu\").archs([\"90a\"]).compile(\"sm90\")`"
            ),
            row(
                6,
                "`build_lib(out.join(\"libmoe.a\"))` and five lines for cargo",
                "`compile(\"moe\")`"
            ),
        ]
    );
}

#[test]
fn each_tool_has_a_table() {
    for (script, tool, expected) in [
        (
            "bindgen_cuda::Builder::default()\n.kernel_paths(files)",
            "bindgen_cuda",
            &["Builder::default", "kernel_paths"][..],
        ),
        (
            "cc::Build::new().cuda(true)\n.includes(dirs)",
            "cc",
            &["cuda(true)", "includes"],
        ),
        (
            "Command::new(\"nvcc\").args([\"-ptx\", \"-Iinclude\"])",
            "nvcc",
            &["Command::new", "-ptx", "-ptx", "-I dir"],
        ),
    ] {
        assert_eq!(find(script).expect("a tool").tool, tool);
        let found = options(script);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((_, option), expected) in found.iter().zip(expected) {
            assert!(option.contains(expected), "{option}");
        }
    }
    assert!(find("fn main() {}\n").is_none());
}

#[test]
fn a_word_within_another_word_is_not_an_option() {
    assert!(contains_word(".file(\"a.cu\")", "file("));
    assert!(!contains_word("x.source_file(y)", "file("));
    assert!(contains_word("[\"-c\", \"-O3\"]", "-c"));
    assert!(!contains_word("\"-cudart=shared\"", "-c"));
    assert!(contains_word("\"--ptx\"", "-ptx"));
    assert!(contains_word(
        "rustc-link-search=native={out}",
        "rustc-link-search="
    ));
    assert!(!contains_word(
        "rustc-link-lib=cudart_static",
        "rustc-link-lib=cudart"
    ));
}
