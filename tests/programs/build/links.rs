//! Programs that are linked by a real linker: with archives, and with their own C code beside CUDA.

pub mod rpath;

use crate::support::builds::{SCRIPT, toolkit, write};
use crate::support::{Ran, built, cargo, fresh, project, repository, run, scratch, simulated};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles C into an archive.
fn archive(dir: &Path, name: &str, source: &str) -> PathBuf {
    fs::create_dir_all(dir).unwrap();
    let (code, object) = (dir.join("source.c"), dir.join(format!("{name}.o")));
    let path = dir.join(format!("lib{name}.a"));
    let _ = fs::remove_file(&path);
    write(&code, source);
    let done = |command: &mut Command| assert!(command.status().unwrap().success());
    done(
        Command::new("cc")
            .args(["-c", "-fPIC", "-o"])
            .arg(&object)
            .arg(&code),
    );
    done(Command::new("ar").arg("rcs").arg(&path).arg(&object));
    fs::remove_file(object).unwrap();
    fs::remove_file(code).unwrap();
    path
}

fn headers(dir: &Path) {
    write(&dir.join("include/cudnn.h"), "");
    write(
        &dir.join("include/cudnn_version.h"),
        "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 14\n#define CUDNN_PATCHLEVEL 0\n",
    );
}

/// Sub-libraries that call each other in a cycle, an engine that is not called and that registers itself before `main`,
/// and the archives of CUDA, each of which calls the next.
fn static_installation(test: &Path) -> (PathBuf, PathBuf) {
    let (cuda, cudnn) = (test.join("cuda"), test.join("cudnn"));
    toolkit(&cuda, 13000, false);
    headers(&cudnn);
    let parts = cudnn.join("lib");
    for (part, source) in [
        (
            "graph",
            "int cudnn_ops(void); int cudnn_engines;\n\
             unsigned long cudnnGetVersion(void) { return 91400 + cudnn_ops(); }\n\
             int cudnn_graph(void) { return 0; }\nint engines(void) { return cudnn_engines; }\n",
        ),
        (
            "ops",
            "int cudnn_graph(void); int cublasLtCreate(void); int nvrtcVersion(void);\n\
             int cudnn_ops(void) { return cudnn_graph() + cublasLtCreate() + nvrtcVersion(); }\n",
        ),
        (
            "engines_precompiled",
            "extern int cudnn_engines;\n\
             __attribute__((constructor)) static void known(void) { cudnn_engines += 7; }\n",
        ),
        ("cnn", "int cudnn_cnn(void) { return 0; }\n"),
        ("heuristic", "int cudnn_heuristic(void) { return 0; }\n"),
    ] {
        archive(&parts, &format!("cudnn_{part}_static_v9"), source);
    }
    let libs = cuda.join("lib64");
    for (name, source) in [
        (
            "cublas_static",
            "int cublasLtCreate(void); int cublasCreate_v2(void) { return cublasLtCreate(); }\n",
        ),
        (
            "cublasLt_static",
            "int culibos(void); int cublasLtCreate(void) { return culibos(); }\n",
        ),
        (
            "nvrtc_static",
            "int builtins(void); int nvrtcVersion(void) { return builtins(); }\n",
        ),
        (
            "nvrtc-builtins_static",
            "int ptx(void); int builtins(void) { return ptx(); }\n",
        ),
        ("nvptxcompiler_static", "int ptx(void) { return 0; }\n"),
        (
            "culibos",
            "int cudaGetLastError(void); int culibos(void) { return cudaGetLastError(); }\n",
        ),
        (
            "cudart_static",
            "int cudaGetLastError(void) { return 0; }\n",
        ),
        // cuDNN's archives need these libraries, which are not installed with every C compiler. The archives above do not.
        ("stdc++", ""),
        ("z", ""),
    ] {
        archive(&libs, name, source);
    }
    (cuda, cudnn)
}

fn build(dir: &Path, ask: &str, cuda: &Path, cudnn: &Path) -> Ran {
    let mut command = cargo(dir, &["rustc"]);
    // The linker that reads archives once, in order.
    command
        .args(["--", "-Clink-arg=-fuse-ld=bfd"])
        .env("ASK", ask)
        .env("IMAGE", scratch("builds-empty-image"))
        .env("CUDA_HOME", cuda)
        .env("CUDNN_PATH", cudnn);
    run(&mut command)
}

const STATIC: &str = r#"unsafe extern "C" {
    fn cudnnGetVersion() -> usize;
    fn engines() -> i32;
    fn cublasCreate_v2() -> i32;
}

fn main() {
    let (version, engines) = unsafe { (cudnnGetVersion(), engines()) };
    println!("cuDNN {version}, {engines} engines, cuBLAS {}", unsafe { cublasCreate_v2() });
}
"#;

/// The program contains everything, including engines that are not called by name, and needs no library of
/// NVIDIA.
#[test]
fn a_program_contains_cuda_and_cudnn() {
    let test = fresh("links-static");
    let (cuda, cudnn) = static_installation(&test);
    let dir = project("static-linked", SCRIPT, STATIC);
    build(
        &dir,
        "static;cuda=>=12;cudnn=>=9;libs=cublas",
        &cuda,
        &cudnn,
    )
    .exits_with(0);
    fs::remove_dir_all(&test).unwrap();
    run(&mut Command::new(built("static-linked")))
        .exits_with(0)
        .says("cuDNN 91400, 7 engines, cuBLAS 0");
    run(Command::new("readelf")
        .arg("-d")
        .arg(built("static-linked")))
    .exits_with(0)
    .says("(NEEDED)")
    .does_not_say("cudnn")
    .does_not_say("cublas")
    .does_not_say("cudart");
}

/// The simulator's sources as archives, with the headers that it was built from.
fn static_simulator(test: &Path) -> (PathBuf, PathBuf, PathBuf) {
    let (cuda, cudnn) = static_installation(test);
    let (simulator, sources) = (
        fresh("links-simulator"),
        repository().join("fixtures/simulator"),
    );
    simulated::install((9, 14, 0), &[], &simulator);
    for name in ["cudnn.h", "cudnn_calls.h", "cudnn_version.h"] {
        let text = fs::read_to_string(simulator.join("include").join(name)).unwrap();
        write(&cudnn.join("include").join(name), &text);
    }
    for (part, files) in [
        ("graph", &["core.c", "graph.c"][..]),
        ("ops", &["ops.c"]),
        ("cnn", &["cnn.c", "train.c"]),
    ] {
        let archive = cudnn.join(format!("lib/libcudnn_{part}_static_v9.a"));
        fs::remove_file(&archive).unwrap();
        for file in files {
            let object = test.join(format!("{file}.o"));
            let mut cc = Command::new("cc");
            cc.args(["-std=gnu99", "-O1", "-c", "-fPIC", "-DWITHIN", "-I"]);
            cc.arg(simulator.join("include")).arg("-o").arg(&object);
            assert!(cc.arg(sources.join(file)).status().unwrap().success());
            let mut ar = Command::new("ar");
            let done = ar.arg("rcs").arg(&archive).arg(&object).status();
            assert!(done.unwrap().success());
        }
    }
    archive(
        &cudnn.join("lib"),
        "cudnn_engines_precompiled_static_v9",
        "int cudnn_engines;\n",
    );
    (cuda, cudnn, simulator.join("driver"))
}

const GUARD_SCRIPT: &str = "fn main() {\n    cudnn_guard::build(|| {\n        \
    let config = cudnn_guard::Config::new().cudnn(\">=9\").link(cudnn_guard::Link::Static);\n        \
    let gpu = config.root(std::env::var(\"IMAGE\").unwrap()).env(\"PATH\", \"/nowhere\").probe()?;\n        \
    gpu.link();\n        gpu.guard().write()\n    });\n}\n";

/// Declares a function of cuDNN with its own types, as bindings do.
const GUARDED: &str = r#"#![deny(warnings)]
mod guard {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

unsafe extern "C" {
    fn cudnnCreate(handle: *mut *mut Handle) -> i32;
}

#[repr(C)]
struct Handle {
    alive: i32,
}

fn main() {
    if std::env::args().count() > 1 {
        let create: unsafe extern "C" fn(*mut *mut Handle) -> i32 = cudnnCreate;
        println!("{:?}", create as *const ());
    }
    for result in [guard::check_version(), guard::check()] {
        match result {
            Ok(report) => println!("pass\n{report}"),
            Err(failure) => println!("{:?}\n{failure}", failure.verdict()),
        }
    }
}
"#;

/// A cuDNN that is linked into the program is queried for its version, and convolves in a child.
#[test]
fn a_guard_checks_the_cudnn_inside_its_program() {
    let test = fresh("links-static-guard");
    let (cuda, cudnn, driver) = static_simulator(&test);
    let name = "static-guarded";
    let header = cudnn.join("include/cudnn_version.h");
    let text = fs::read_to_string(&header).unwrap();
    write(&header, &text.replace("CUDNN_MINOR 15", "CUDNN_MINOR 14"));
    let dir = project(name, GUARD_SCRIPT, GUARDED);
    build(&dir, "", &cuda, &cudnn)
        .exits_with(0)
        .does_not_say("warning");
    let program = |fault: &str| {
        let mut program = Command::new(built(name));
        program.env("LD_LIBRARY_PATH", &driver);
        program.env("SIM_FAULT", fault);
        run(&mut program)
    };
    program("")
        .exits_with(0)
        .says("loaded      ")
        .says(&format!("{name}: 9.14.0\n"))
        .says("found via   its archives, which are linked into the program\n")
        .says("not tested  driver, GPU and convolution: only a version check was requested\npass\n")
        .says(&format!("{name}: 9.14.0, built for CUDA 13\n"))
        .says("tested      f32 convolution forward on Simulated GPU: pass")
        .does_not_say("  [");
    program("wrong").says("[convolution-wrong]");
    program("abort:cudnnConvolutionForward")
        .says("cuDNN crashed the test process (SIGABRT) while running the forward convolution")
        .says("= help: rebuild the program with the archives of another cuDNN version");
    // The headers are of a later version than the archives.
    write(&header, &text.replace("CUDNN_MINOR 14", "CUDNN_MINOR 15"));
    build(&dir, "", &cuda, &cudnn).exits_with(0);
    program("")
        .exits_with(0)
        .says(
            "Fail\nloaded cuDNN 9.14.0 is older than 9.15.0, which this program was built with  \
             [cudnn-version-mismatch]\n  \
             = help: rebuild the program with the archives of cuDNN 9.15 or later 9.x\n",
        )
        .says(
            "  found via   its archives, which are linked into the program\n  \
             built with  9.15.0 (compatible: 9.15 or later 9.x)\n",
        )
        .says("not tested  driver, GPU and convolution: its version is incompatible");
    fs::remove_dir_all(&test).unwrap();
}

/// Returns a build script that compiles the program's own C code, which calls CUDA, at the chosen place.
fn mixed_script(order: &str) -> String {
    format!(
        r#"use std::process::Command;

fn compile() {{
    let out = std::env::var("OUT_DIR").unwrap();
    std::fs::write(format!("{{out}}/own.c"), "int cudaGetLastError(void); unsigned long cudnnGetVersion(void);\n\
        unsigned long own(void) {{ return cudnnGetVersion() + cudaGetLastError(); }}\n").unwrap();
    let done = |command: &mut Command| assert!(command.current_dir(&out).status().unwrap().success());
    done(Command::new("cc").args(["-c", "-fPIC", "-o", "own.o", "own.c"]));
    done(Command::new("ar").args(["rcs", "libown.a", "own.o"]));
    println!("cargo::rustc-link-search=native={{out}}");
    println!("cargo::rustc-link-lib=static=own");
}}

fn main() {{
    cudnn_guard::build(|| {{
        let config = cudnn_guard::Config::new().root(std::env::var("IMAGE").unwrap());
        let gpu = config.cuda(">=12").cudnn(">=9").env("PATH", "/nowhere").probe()?;
        {order}
        Ok(())
    }});
}}
"#
    )
}

const MIXED: &str = r#"unsafe extern "C" {
    fn own() -> usize;
}

fn main() {
    println!("cuDNN {}", unsafe { own() });
}
"#;

/// An object's calls of CUDA are resolved if `link()` is called after the compilation, as documented.
#[test]
fn objects_that_a_program_compiles_are_linked_with_cuda() {
    let test = fresh("links-order");
    let (cuda, cudnn) = (test.join("cuda"), test.join("cudnn"));
    toolkit(&cuda, 13000, false);
    headers(&cudnn);
    archive(
        &cuda.join("lib64"),
        "cudart_static",
        "int cudaGetLastError(void) { return 0; }\n",
    );
    let source = test.join("cudnn.c");
    write(
        &source,
        "unsigned long cudnnGetVersion(void) { return 91400; }\n",
    );
    fs::create_dir_all(cudnn.join("lib")).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-Wl,-soname,libcudnn.so.9", "-o"]);
    cc.arg(cudnn.join("lib/libcudnn.so.9")).arg(source);
    assert!(cc.status().unwrap().success());

    let dir = project("own-first", &mixed_script("compile(); gpu.link();"), MIXED);
    build(&dir, "", &cuda, &cudnn).exits_with(0);
    run(&mut Command::new(built("own-first")))
        .exits_with(0)
        .says("cuDNN 91400");
    let dir = project("own-last", &mixed_script("gpu.link(); compile();"), MIXED);
    build(&dir, "", &cuda, &cudnn)
        .exits_with(101)
        .says("undefined reference to `cudnnGetVersion'");
}

/// The linker or the program would fail. The build reports that first, and continues.
#[test]
fn a_library_without_its_neighbor_is_a_warning() {
    let test = fresh("links-neighbor");
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, false);
    let libs = cuda.join("lib64");
    let library = |name: &str, source: &str, with: &[&str]| {
        let code = libs.join("source.c");
        write(&code, source);
        let mut cc = Command::new("cc");
        cc.current_dir(&libs).args(["-shared", "-fPIC", "-o", name]);
        cc.arg(format!("-Wl,-soname,{name}")).arg(&code).args(with);
        assert!(cc.status().unwrap().success());
    };
    library("libcublasLt.so.13", "int lt(void) { return 0; }\n", &[]);
    let blas = "int lt(void); int cublas(void) { return lt(); }\n";
    library("libcublas.so.13", blas, &["libcublasLt.so.13"]);
    let dir = project("neighbor", SCRIPT, "fn main() {}\n");
    let warning = format!(
        "`libcublas.so.13` of CUDA 13.0 needs `libcublasLt.so.13`, which is not in `{}`  [partial-toolkit]",
        cuda.display()
    );
    let ask = "cuda=>=12;libs=cublas";
    build(&dir, ask, &cuda, &cuda)
        .exits_with(0)
        .does_not_say("libcublasLt");
    fs::remove_file(libs.join("libcublasLt.so.13")).unwrap();
    let mut touched = cargo(&dir, &["build"]);
    touched
        .env("ASK", "cuda=>=12; ;libs=cublas")
        .env("IMAGE", scratch("builds-empty-image"))
        .env("CUDA_HOME", &cuda);
    run(&mut touched).exits_with(0).says(&warning);
}
