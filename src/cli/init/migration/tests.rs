use super::*;

fn options(script: &str) -> Vec<(usize, String)> {
    let rows = find(script).into_iter().flat_map(|table| table.rows);
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
    let tables = find(script);
    let [table] = &tables[..] else {
        panic!("{} tables", tables.len());
    };
    assert_eq!(table.tool, "cudaforge");
    let text = table.text(Path::new("build.rs"));
    assert!(
        text.starts_with("build.rs:4: this script uses cudaforge, "),
        "{text}"
    );
    let row = |line, option: &str, here: &str| Row {
        line,
        option: option.into(),
        here: here.into(),
    };
    assert_eq!(
        table.rows,
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
        assert_eq!(find(script)[0].tool, tool);
        let found = options(script);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((_, option), expected) in found.iter().zip(expected) {
            assert!(option.contains(expected), "{option}");
        }
    }
    assert!(find("fn main() {}\n").is_empty());
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
    let rows = find(script).into_iter().flat_map(|table| table.rows);
    let rows: Vec<_> = rows.map(|row| (row.line, row.here)).collect();
    let rows: Vec<_> = rows
        .iter()
        .map(|(line, here)| (*line, here.as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            (1, "`gpu.link()`; `gpu.link_dirs()` for other tools"),
            (3, "`gpu.include_dirs()`, `gpu.apply_to(&mut build)`"),
            (4, "`gpu.cuda_root()`"),
            (2, "`gpu.link()`"),
        ]
    );
    let text = find(script)[0].text(Path::new("build.rs"));
    assert!(
        text.starts_with("build.rs:1: this script uses fixed paths, "),
        "{text}"
    );
    assert!(find("println!(\"cargo:rustc-link-search={out}\");").is_empty());
    assert!(find("// /usr/local/cuda/lib64").is_empty());
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
