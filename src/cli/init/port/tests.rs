mod around;
mod unclear;

use super::*;
use crate::cli::init::recipe;

/// Returns the new script, or the line and the reason.
fn ported(script: &str) -> String {
    match port(script) {
        Some(Ok(port)) => port.script(&recipe::KERNELS),
        Some(Err(doubt)) => format!("{} {}: {}", doubt.tool, doubt.line, doubt.what),
        None => "none".to_string(),
    }
}

/// Returns a script of cudaforge with these calls of the builder.
fn of_cudaforge(calls: &str) -> String {
    format!("fn main() {{\n    cudaforge::KernelBuilder::new(){calls};\n}}\n")
}

#[test]
fn cudaforge_is_ported() {
    let script = r#"// Compiles the “kernels”.
use cudaforge::{KernelBuilder, Result};
use std::path::PathBuf;

const FLAGS: [&str; 2] = ["-std=c++17", "-O3"];

fn main() -> Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CUDA_COMPUTE_CAP");
    println!("cargo:rerun-if-changed=notes.txt");
    let out_dir = PathBuf::from(std::env::var("OUT_DIR").unwrap());
    let sources = vec!["src/a.cu", "src/b.cu"];
    for source in sources.iter() {
        println!("cargo:rerun-if-changed={source}");
    }
    let mut builder = KernelBuilder::new()
        .source_files(&sources)
        .source_dir("src/more/")
        // Not these.
        .exclude(&["*_test.cu"])
        .watch(vec!["src/common.cuh"])
        .watch(["names.txt"])
        .compute_cap(121)
        .with_compute_override("hopper_*.cu", 90)
        .with_compute_override_arch("ada_*.cu", "89")
        .with_cutlass(Some("7127592069c2fe01b041e174ba4345ef9b279671"))
        .include_path("include")
        .thread_percentage(0.5)
        .arg("-DN=4")
        .args(FLAGS);
    builder = builder.arg("-DFAST").arg("-Iother").arg("--use_fast_math");
    let library = out_dir.join("libmoe.a");
    builder.build_lib(library)?;
    println!("cargo:rustc-link-search={}", out_dir.display());
    println!("cargo:rustc-link-lib=static=moe");
    println!("cargo::rustc-link-lib=dylib=cudart");
    println!("cargo:rustc-link-lib=cublas");
    Ok(())
}
"#;
    let expected = r#"// Compiles the “kernels”.

const FLAGS: [&str; 2] = ["-std=c++17", "-O3"];

fn main() {
    println!("cargo:rerun-if-changed=notes.txt");
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cuda(">=11").probe()?;
        gpu.kernels()
            .files(["src/a.cu", "src/b.cu"])
            .files("src/more/**/*.cu")
            .exclude(["*_test.cu"])
            .watch(["names.txt"])
            .archs(["121f"])
            .for_files("hopper_*.cu", |files| files.archs(["90a"]))
            .for_files("ada_*.cu", |files| files.archs(["89"]))
            .cutlass()
            .define("USE_CUTLASS", None)
            .include("include")
            .define("N", "4")
            .flags(FLAGS)
            .define("FAST", None)
            .include("other")
            .flag("--use_fast_math")
            .default_stream(cudnn_guard::DefaultStream::PerThread)
            .cudart(cudnn_guard::Cudart::Shared)
            .compile("moe")?;
        println!("cargo:rustc-link-lib=cublas");
        Ok(())
    });
}
"#;
    assert_eq!(ported(script), expected);
    assert!(port(script).unwrap().ok().unwrap().needs_cutlass());
}

#[test]
fn bindgen_cuda_is_ported() {
    let script = r#"fn main() {
    let builder = bindgen_cuda::Builder::default()
        .include_paths(vec!["src/a.cuh", "src/b.cuh"])
        .include_paths_glob("include/**/*.h")
        .out_dir("out");
    println!("cargo:info={builder:?}");
    let bindings = builder.build_ptx().unwrap();
    bindings.write("src/lib.rs").expect("written");
}
"#;
    let expected = r#"fn main() {
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cuda(">=11").probe()?;
        gpu.kernels()
            .include("src")
            .include("include")
            .out_dir("out")
            .module("ptx")
            .default_stream(cudnn_guard::DefaultStream::PerThread)
            .files("src/**/*.cu")
            .ptx()?;
        Ok(())
    });
}
"#;
    assert_eq!(ported(script), expected);
    let written = port(script).unwrap().ok().unwrap().written;
    assert_eq!(
        written,
        Some(("src/lib.rs".to_string(), "ptx.rs".to_string()))
    );
    let library = r#"use bindgen_cuda::Builder;
fn main() {
    Builder::default().kernel_paths_glob("src/*.cu").compute_cap(90).build_lib("libadd.a");
}
"#;
    let library = ported(library);
    assert!(
        library.contains(".cuda(\">=11\").embed_ptx(true).probe()?;\n"),
        "{library}"
    );
    assert!(library.contains(".archs([\"90\"])\n"), "{library}");
    assert!(
        library.ends_with(".compile(\"add\")\n    });\n}\n"),
        "{library}"
    );
}

#[test]
fn cc_is_ported() {
    let script = r#"fn main() {
    let mut build = cc::Build::new();
    build.cuda(true).cudart("shared").cpp(true);
    build
        .flag("-gencode").flag("arch=compute_75,code=sm_75")
        .flag("-gencode=arch=compute_80,code=compute_80")
        .define("N", Some("4"))
        .std("c++17");
    build.file("src/a.cu");
    build.files(["src/b.cu"]);
    build.compile("libboth.a");
}
"#;
    let expected = r#"fn main() {
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cuda(">=11").probe()?;
        gpu.kernels()
            .cudart(cudnn_guard::Cudart::Shared)
            .define("N", Some("4"))
            .flag("-std=c++17")
            .file("src/a.cu")
            .files(["src/b.cu"])
            .archs(["-gencode=arch=compute_75,code=sm_75", "-gencode=arch=compute_80,code=compute_80"])
            .flag("-rdc=true")
            .compile("both")
    });
}
"#;
    assert_eq!(ported(script), expected);
    let one = r#"fn main() {
    cc::Build::new().cuda(true).file("a.cu").compile("one");
}
"#;
    assert!(!ported(one).contains("rdc"), "{}", ported(one));
}

#[test]
fn commands_of_nvcc_are_ported() {
    let script = r#"use std::{env, path::Path, process::Command};

fn main() {
    let out = env::var("OUT_DIR").unwrap();
    let names = vec!["a"].iter().collect::<Vec<&&str>>();
    let status = Command::new("nvcc")
        .args(["-ptx", "-O3", "-std", "c++17", "src/add.cu", "-I", "include"])
        .arg("-o").arg(Path::new(&out).join("add.ptx"))
        .status()
        .expect("nvcc runs");
    assert!(status.success(), "nvcc failed");
    let mut command = std::process::Command::new("nvcc");
    command.args(&["-lib", "-arch=sm_80", "-Xcompiler", "-fPIC", "src/a.cu", "src/b.cu"]);
    command.args(vec!["-o", &format!("{out}/libboth.a")]);
    let output = command.output().unwrap();
    if !output.status.success() {
        panic!("{}", String::from_utf8_lossy(&output.stderr));
    }
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=both");
    println!("cargo:rerun-if-changed=src/a.cu");
}
"#;
    let expected = r#"fn main() {
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cuda(">=11").embed_ptx(true).probe()?;
        gpu.kernels()
            .flag("-O3")
            .flags(["-std", "c++17"])
            .include("include")
            .files(["src/add.cu"])
            .ptx()?;
        gpu.kernels()
            .flags(["-Xcompiler", "-fPIC"])
            .files(["src/a.cu", "src/b.cu"])
            .archs(["-arch=sm_80"])
            .compile("both")
    });
}
"#;
    assert_eq!(ported(script), expected);
}

#[test]
fn a_command_of_nvcc_with_another_result_is_not_ported() {
    let sound = r#"fn main() {
    let out = std::env::var("OUT_DIR").unwrap();
    let status = Command::new("nvcc").args(["-fatbin", "a.cu", "-o", &format!("{out}/a.fatbin")]).status();
    assert!(status.success());
}
"#;
    let kernels = "gpu.kernels()\n            .files([\"a.cu\"])\n            .fatbin()?;\n";
    assert!(ported(sound).contains(kernels), "{}", ported(sound));
    const COMMAND: &str =
        "3: a command that does not write one PTX file, fatbin or library into `OUT_DIR`";
    for (from, to, what) in [
        ("-fatbin", "-O3", COMMAND),
        ("-fatbin", "-lib", COMMAND),
        ("-fatbin", "-ptx", COMMAND),
        ("\"a.cu\"", "\"a.cu\", \"b.cu\"", COMMAND),
        ("a.fatbin", "b.fatbin", COMMAND),
        ("{out}/", "src/", COMMAND),
        (".status()", "", COMMAND),
        ("-o", "-arch", "3: `&format!(\"{out}/a.fatbin\")`"),
        ("\"a.cu\"", "\"a.cu\", \"b.o\"", "3: `\"b.o\"`"),
        ("\"a.cu\"", "name", "3: `name`"),
        (".status()", ".env(\"A\", \"1\").status()", "3: `env`"),
        (
            "assert!(status.success())",
            "work(status)",
            "4: `work(status);`",
        ),
        (
            "assert!(status.success())",
            "files.iter().map(|one| Command::new(\"nvcc\"))",
            "4: `files.iter().map(|one| Command::new(\"nvcc\"));`",
        ),
        (
            "assert!(status.success());",
            "if !status.success() { work() } else { done() }",
            "4: `if !status.success() { work() } else { done() }`",
        ),
        (
            "\"nvcc\"",
            "find(\"nvcc\")",
            "3: `let status = Command::new(find(\"nvcc\")).args([\"-fatbin\", \"a.cu\", \"-o\", &format!(\"{out}/a.fatbin\")]).status();`",
        ),
    ] {
        let script = sound.replacen(from, to, 1);
        assert_eq!(ported(&script), format!("nvcc {what}"), "{script}");
    }
}

#[test]
fn ambiguous_scripts_are_not_ported() {
    for (calls, what) in [
        (".exclude(&[\"old/*\"])", "`exclude`"),
        (".arg(format!(\"-arch={}\", 80))", "`arg`"),
        (".arg(\"--default-stream=legacy\")", "`arg`"),
        (".source_files([\"a.cpp\"])", "`source_files`"),
        (".compute_cap(cap)", "`compute_cap`"),
        (".build_lib(path())", "`build_lib`"),
        (".build_ptx().write(path())", "`write`"),
        (".arg(\"-O3\")", "a builder that compiles nothing"),
        (
            ".build_lib(\"liba.a\").build_lib(\"libb.a\")",
            "a builder that compiles more than once",
        ),
        (
            ".arg(\"-arch\").build_lib(\"liba.a\")",
            "`-arch` without a value",
        ),
    ] {
        assert_eq!(
            ported(&of_cudaforge(calls)),
            format!("cudaforge 2: {what}"),
            "{calls}"
        );
    }
    let sound = of_cudaforge(".build_lib(\"liba.a\")");
    assert!(sound.len() < ported(&sound).len());
    for (from, to, what) in [
        (
            ");\n}",
            ");\n    let cap = cudaforge::max();\n}",
            "3: `let cap = cudaforge::max();`",
        ),
        (");\n}", ");\n    if work() { return; }\n}", "3: `return`"),
        (");\n}", ");\n    work()\n}", "3: `work()`"),
        (
            "fn main() {",
            "fn main() {\n    let gpu = 1;",
            "1: a block with a variable `gpu`",
        ),
        (
            "    cudaforge::KernelBuilder::new()",
            "    #[cfg(unix)]\n    let built = cudaforge::KernelBuilder::new()",
            "2: `#[cfg(unix)]`",
        ),
        (
            "cudaforge::KernelBuilder",
            "if true {} cudaforge::Other",
            "2: `if true {} cudaforge::Other::new().build_lib(\"liba.a\");`",
        ),
    ] {
        let script = sound.replacen(from, to, 1);
        assert_eq!(ported(&script), format!("cudaforge {what}"), "{script}");
    }
    let constant = "const DIR: &str = \"x\";\nfn main() {\n    cudaforge::KernelBuilder::new().include_path(DIR)";
    let constant = sound.replacen(
        "fn main() {\n    cudaforge::KernelBuilder::new()",
        constant,
        1,
    );
    let constant = ported(&constant);
    assert!(
        constant.starts_with("const DIR: &str = \"x\";\nfn main() {\n"),
        "{constant}"
    );
    assert!(constant.contains(".include(DIR)\n"), "{constant}");
    assert_eq!(
        ported("fn main() { cc::Build::new().file(\"a.c\"); }"),
        "none"
    );
    assert_eq!(ported("fn main( { cudaforge"), "none");
}

#[test]
fn the_options_of_commands_in_closures_are_shown() {
    let script = r#"const FILES: [&str; 1] = ["add.cu"];

fn main() {
    let output = Command::new("nvidia-smi").arg("--query-gpu=compute_cap").output();
    println!("cargo:rerun-if-changed=kernels/add.cu");
    let cap = number(output);
    FILES.iter().for_each(|file| {
        let flags = ["-O3", "--use_fast_math"];
        let mut command = Command::new("nvcc");
        command.args(flags).args(["--default-stream", "per-thread"]).arg(format!("-arch=sm_{cap}"));
        command.arg("-c").arg("-I").arg("include").arg("-DN=2").arg(file).args(["-o", "add.o"]).status();
    });
    Command::new("nvcc").arg("--lib").args(["-o", "libadd.a"]).arg("add.o").status();
}
"#;
    let expected = r#"gpu.kernels()
            .files(["**/add.cu"])
            .flag("-O3")
            .flag("--use_fast_math")
            .default_stream(cudnn_guard::DefaultStream::PerThread)
            .include("include")
            .define("N", "2")
            .compile("add")?"#;
    let draft = |script| port(script).unwrap().err().unwrap().draft;
    assert_eq!(draft(script).as_deref(), Some(expected));
    let ptx = "fn main() { all(|it| Command::new(\"nvcc\").args([\"-ptx\", \"-gencode\", \"arch=compute_80,code=sm_80\"]).arg(it)) }";
    let expected = r#"gpu.kernels()
            .files(["**/*.cu"])
            .archs(["-gencode=arch=compute_80,code=sm_80"])
            .ptx()?"#;
    assert_eq!(draft(ptx).as_deref(), Some(expected));
    assert_eq!(draft("fn main() { cudaforge::build() }"), None);
}
