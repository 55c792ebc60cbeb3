use super::*;

/// Returns the lines of a script with the options in them, and the first line of the text.
fn options(script: &str) -> (String, Vec<(usize, String)>) {
    let text = text(script, Path::new("build.rs"));
    let (head, rows) = text.split_once('\n').expect("a tool");
    let rows = rows.lines().filter_map(|line| line.strip_prefix("  line "));
    let rows = rows.map(|row| row.split_once(": ").expect("an option"));
    let rows = rows.map(|(line, option)| (line.parse().expect("a number"), option.to_string()));
    (head.to_string(), rows.collect())
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
    let expected = "\
build.rs:4: this script uses cudaforge, and init does not change these calls. The equivalent calls of cudnn-guard, from docs/migration.md, belong in the new block:

  line 4: `KernelBuilder::new()`
    `gpu.kernels()`
  line 5: `with_compute_override(\"sm90_*.cu\", 90)`, `with_compute_override_arch(\"sm90_*.cu\", \"90a\")`
    `exclude(\"sm90_*.cu\")`, and a second `gpu.kernels().files(\"src/sm90_*.cu\").archs([\"90a\"]).compile(\"sm90\")`
  line 6: `build_lib(out.join(\"libmoe.a\"))` and five lines for cargo
    `compile(\"moe\")`

For differences that a successful build does not show, see \"What changes silently\" in docs/migration.md.
";
    assert_eq!(text(script, Path::new("build.rs")), expected);
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
        let (head, found) = options(script);
        let start = format!("build.rs:1: this script uses {tool}, ");
        assert!(head.starts_with(&start), "{head}");
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((_, option), expected) in found.iter().zip(expected) {
            assert!(option.contains(expected), "{option}");
        }
    }
    assert_eq!(text("fn main() {}\n", Path::new("")), "");
}

#[test]
fn fixed_paths_and_another_search_are_replaced() {
    let script = "\
println!(\"cargo:rustc-link-search=native=/usr/local/cuda-12.4/lib64\");
println!(\"cargo:rustc-link-lib=dylib=cudnn\");
cc::Build::new().include(\"/usr/local/cuda/include\").compile(\"a\");
let root = \"/usr/local/cuda\";
let dirs = find_cuda_lib_dirs();
";
    let (head, rows) = options(script);
    assert!(
        head.starts_with("build.rs:1: this script uses fixed paths, "),
        "{head}"
    );
    let rows: Vec<_> = rows
        .iter()
        .map(|(line, option)| (*line, option.as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            (1, "`/usr/local/cuda/lib64`, `find_cuda_lib_dirs()`"),
            (3, "`/usr/local/cuda/include`, for bindgen or cc"),
            (4, "`/usr/local/cuda`, `find_cuda_root()`, `read_env()`"),
            (
                2,
                "`rustc-link-lib=cudnn`, `rustc-link-lib=dylib=cudnn`, `rustc-link-lib=cudart`"
            ),
        ]
    );
    for script in [
        "x(\"cargo:rustc-link-search={out}\");",
        "// /usr/local/cuda/lib64",
    ] {
        assert_eq!(text(script, Path::new("")), "");
    }
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
