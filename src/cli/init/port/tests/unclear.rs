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
    // Another function has variables with the same names.
    let script = r#"fn main() {
    cudaforge::KernelBuilder::new().build_lib("liba.a").unwrap();
    for path in ["/opt/nccl/lib"] { println!("cargo:rustc-link-search=native={path}"); }
    let files = ["a.txt"];
    for file in &files { println!("cargo:rerun-if-changed={file}"); }
    println!("cargo:rerun-if-changed=wrapper.h");
    println!("cargo:rustc-link-search={}", std::env::var("OUT_DIR").unwrap());
    println!("cargo:rustc-link-search={}/lib", std::env::var("OUT_DIR").unwrap());
    other();
}

fn other() {
    let path = std::env::var("OUT_DIR").unwrap();
    let file = "a.cu";
    bindgen::write(path, file);
    println!("cargo:rustc-link-lib=cudart");
}
"#;
    let script = ported(script);
    for kept in [
        "for path in",
        "for file in",
        "wrapper.h",
        "{}/lib",
        "Cudart::Shared",
    ] {
        assert!(script.contains(kept), "{kept}: {script}");
    }
    assert!(!script.contains("search={}\""), "{script}");
    let watched =
        "fn main() { cudaforge::KernelBuilder::new().watch(found()).build_lib(\"liba.a\"); }";
    assert!(
        ported(watched).contains(".watch(found())"),
        "{}",
        ported(watched)
    );
    // Files in a loop may be several.
    let in_loop = "fn main() {
    let mut build = cc::Build::new();
    build.cuda(true);
    for file in files() {
        build.file(file);
    }
    build.compile(\"k\");
}
";
    assert!(
        ported(in_loop).contains(".flag(\"-rdc=true\")"),
        "{}",
        ported(in_loop)
    );
    for (call, kept) in [
        ("out_dir(\"ptx\").build_ptx()", ".out_dir(\"ptx\")"),
        ("out_dir(dir()).build_ptx()", ".out_dir(dir())"),
        (
            "out_dir(std::env::var(\"OUT_DIR\").unwrap()).build_ptx()",
            "ptx()?",
        ),
        ("out_dir(\"x\").build_lib(\"liba.a\")", "compile(\"a\")"),
    ] {
        let script = main(&format!(
            "    bindgen_cuda::Builder::default().{call}.unwrap();"
        ));
        assert!(script.contains(kept), "{script}");
        assert_eq!(
            script.contains("out_dir"),
            kept.contains("out_dir"),
            "{script}"
        );
    }
}
