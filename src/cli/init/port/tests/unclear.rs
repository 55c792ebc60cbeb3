//! Scripts whose port would do something else.

use super::ported;

#[test]
fn unclear_code_is_not_changed_silently() {
    let main = |statements: &str| {
        let script = format!("fn main() -> anyhow::Result<()> {{\n{statements}\n    Ok(())\n}}\n");
        ported(&script)
    };
    const NEW: &str = "    let mut b = cudaforge::KernelBuilder::new();\n";
    const BUILT: &str = "    b.build_lib(\"liba.a\")?;\n";
    for (between, reason) in [
        (
            "    { #[cfg(unix)] b = b.arg(\"-O3\"); }\n",
            "cudaforge 3: `#[cfg(unix)] b = b.arg(\"-O3\");`",
        ),
        (
            "    if x() { return Ok(y()); }\n",
            "cudaforge 3: `return Ok(y())`",
        ),
        (
            "    if x() { bail!(\"no\"); }\n",
            "cudaforge 3: `bail!(\"no\")`",
        ),
        (
            "    let _x = format!(\"{}\", y()?);\n",
            "cudaforge 3: `format!(\"{}\", y()?)`",
        ),
        ("    b = b.arg(y()?);\n", "cudaforge 3: `b = b.arg(y()?);`"),
        (
            "    b = if x() { b.arg(\"-O3\") } else { b };\n",
            "cudaforge 3: `b = if x() { b.arg(\"-O3\") } else { b };`",
        ),
        (
            "    match x() { 1 => b = b.arg(\"-O3\"), _ => {} }\n",
            "cudaforge 3: `match x() { 1 => b = b.arg(\"-O3\"), _ => {} }`",
        ),
        (
            "    if x() { b = b.arg(\"-arch\"); b = b.arg(\"sm_80\"); }\n",
            "cudaforge 2: `-arch` without a value",
        ),
        (
            "    let cap: usize = b.get_compute_cap().unwrap();\n",
            "cudaforge 3: `let cap: usize = b.get_compute_cap().unwrap();`",
        ),
        ("    let flags;\n", "cudaforge 3: `let flags;`"),
        (
            "    b = b.args([\"--default-stream\", \"legacy\"]);\n",
            "cudaforge 3: `args`",
        ),
    ] {
        assert_eq!(main(&format!("{NEW}{between}{BUILT}")), reason, "{between}");
    }
    for (end, reason) in [
        (
            "    b.build_lib(format!(\"lib{name}.a\"))?;\n",
            "cudaforge 3: `build_lib`",
        ),
        (
            "    b.build_ptx()?.write(format!(\"{out}/{name}.rs\"))?;\n",
            "cudaforge 3: `write`",
        ),
    ] {
        assert_eq!(main(&format!("{NEW}{end}")), reason, "{end}");
    }
    // What is not clear stays as it is.
    for (between, kept) in [
        (
            "    for one in made() { println!(\"cargo:rerun-if-changed={one}\"); }\n",
            "for one in made()",
        ),
        (
            "    println!(\"cargo:rerun-if-changed={}\", \"a.proto\");\n",
            "\"a.proto\"",
        ),
        ("    println!(\"cargo:info={}\", made());\n", "made()"),
        ("    if made() {}\n", "if made() {}"),
        ("    let _lock = Lock::new(\"a\");\n", "let _lock"),
        (
            "    println!(\"cargo:rustc-link-lib=static:+whole-archive=a\");\n",
            "whole-archive",
        ),
    ] {
        let script = main(&format!("{NEW}{between}{BUILT}"));
        assert!(
            script.contains(kept) && script.contains("gpu.kernels()"),
            "{script}"
        );
    }
    let script = main(
        "    let dir = \"a\";
    let mut b = cudaforge::KernelBuilder::new().include_path(dir);
    let dir = \"b\";
    b = b.include_path(dir);
    b.build_lib(\"liba.a\")?;",
    );
    let second = "        let dir = \"b\";\n        b = b.include(dir);\n        b.cudart";
    assert!(
        script.contains(&second.replace("b.cudart", "b\n            .files(\"src/**/*.cu\")")),
        "{script}"
    );
    let script = main(
        "    #[cfg(unix)]
    let files = vec![\"a.cu\"];
    #[cfg(windows)]
    let files = vec![\"b.cu\"];
    cudaforge::KernelBuilder::new().source_files(files).build_lib(\"liba.a\")?;",
    );
    assert!(
        script.contains(".files(files)\n") && script.contains("#[cfg(windows)]\n"),
        "{script}"
    );
    let script = main(
        "    let files = vec![\"a.cu\"];
    let files: Vec<&str> = files.into_iter().collect();
    cudaforge::KernelBuilder::new().source_files(files).build_lib(\"liba.a\")?;",
    );
    assert!(script.contains(".files(files)\n"), "{script}");
    let early = main(
        "    if x() {\n        return Ok(());\n    }\n    cudaforge::KernelBuilder::new().build_lib(\"liba.a\")?;",
    );
    assert!(
        early.starts_with("fn main() -> anyhow::Result<()> {\n    if x() {"),
        "{early}"
    );
    let two = "use cudaforge::KernelBuilder;
fn main() {
    if a() { KernelBuilder::new().build_lib(\"liba.a\").unwrap(); }
    if b() { KernelBuilder::new().build_lib(\"libb.a\").unwrap(); }
}
";
    assert!(ported(two).starts_with("cudaforge 2: "), "{}", ported(two));
    let of_c = "fn main() {
    let mut build = cc::Build::new();
    build.file(\"a.c\").compile(\"c\");
    let mut build = cc::Build::new();
    build.cuda(true).file(\"a.cu\").compile(\"cuda\");
}
";
    assert_eq!(ported(of_c), "cc 3: `build.file(\"a.c\").compile(\"c\");`");
    let off =
        "fn main() { cc::Build::new().cuda(false).file(\"a.c\").compile(\"c\"); } // .cuda(true)";
    assert!(ported(off).starts_with("cc 1: "), "{}", ported(off));
}
