//! Programs with `Link::Lazy` for Windows, under Wine: an own DLL takes the place of cuRAND.

use super::wine::windows::{WINDOWS, Windows, path};
use super::wine_guard;
use super::wine_guard::msvc::{self, MSVC};
use crate::build::lazy::{LIBRARY, MAIN, consumers, script};
use crate::support::builds::write;
use crate::support::{Ran, cargo, fresh, program, project, run, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const DLL: &str = "curand64_10.dll";

/// Compiles C to a DLL.
fn dll(file: &Path, source: &str) {
    let code = file.with_extension("c");
    write(&code, source);
    let mut gcc = program("x86_64-w64-mingw32-gcc");
    gcc.args(["-shared", "-O1", "-o"]).arg(file).arg(&code);
    run(&mut gcc).exits_with(0);
}

/// Creates a toolkit with the DLL and its import library.
fn installed(name: &str) -> PathBuf {
    let cuda = fresh(name);
    let (bin, lib) = (cuda.join("bin/x64"), cuda.join("lib/x64"));
    for dir in [&bin, &lib, &cuda.join("include")] {
        fs::create_dir_all(dir).unwrap();
    }
    write(&cuda.join("include/cuda.h"), "#define CUDA_VERSION 13000\n");
    dll(&bin.join(DLL), LIBRARY);
    msvc::import(&bin.join(DLL), &lib.join("curand.lib"));
    cuda
}

/// Builds a project.
fn built(dir: &Path, triple: &str, with: impl Fn(&mut Command) -> &mut Command) -> PathBuf {
    let mut cargo = cargo(dir, &["build", "--target", triple]);
    if triple == MSVC {
        msvc::link(&mut cargo);
    }
    run(with(&mut cargo)).exits_with(0);
    let name = dir.file_name().unwrap().to_str().unwrap();
    let file = target().join(triple).join("debug");
    file.join(format!("{name}.exe"))
}

/// Builds the program.
fn build(name: &str, cuda: &Path, triple: &str) -> PathBuf {
    built(&project(name, &script(""), MAIN), triple, |cargo| {
        cargo.env("CUDA_PATH", cuda).env("CUDA_HOME", cuda)
    })
}

/// A toolchain's program, and the toolkit.
struct Built {
    program: PathBuf,
    cuda: PathBuf,
}

/// Builds the program with each toolchain, once.
fn programs() -> &'static [Built; 2] {
    static PROGRAMS: OnceLock<[Built; 2]> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        [("lazy-wine-gnu", WINDOWS), ("lazy-wine-msvc", MSVC)].map(|(name, triple)| {
            let cuda = installed(&format!("{name}-toolkit"));
            let program = build(name, &cuda, triple);
            Built { program, cuda }
        })
    })
}

/// Starts a program with this directory in PATH.
fn start(windows: &Windows, program: &Path, act: &str, dir: &Path) -> Ran {
    windows.start(program, &[act], &[("WINEPATH", &path(dir))])
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn every_kind_of_argument_reaches_the_dll() {
    let windows = &*wine_guard::windows();
    for Built { program, cuda } in programs() {
        let bin = cuda.join("bin/x64");
        let ran = start(windows, program, "arguments", &bin).exits_with(0);
        let once = "sum 1496\nmixed 264.5\ntriple 7 8 9\nvariadic 6.5\nvector 110\ncallback 42\n";
        assert_eq!(ran.stdout, format!("{once}{once}"));
        let ran = start(windows, program, "threads", &bin).exits_with(0);
        assert_eq!(ran.stdout, "16 threads, 1600 calls\n");
        let ran = start(windows, program, "panic", &bin).exits_with(0);
        assert_eq!(ran.stdout, "caught a panic in the callback\n");
    }
}

/// The program starts without the DLL. The first call names what is missing, or asks the handler.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_missing_dll_is_named_at_the_first_call() {
    let windows = &*wine_guard::windows();
    let empty = fresh("lazy-wine-empty-1");
    let older = fresh("lazy-wine-older");
    dll(&older.join(DLL), "int curandCount(void) { return 1; }\n");
    for (Built { program, .. }, release) in programs().iter().zip(["install CUDA 13, or ", ""]) {
        start(windows, program, "nothing", &empty).exits_with(0);
        let ran = start(windows, program, "arguments", &empty).exits_with(78);
        assert_eq!(ran.stdout, "");
        assert_eq!(
            ran.stderr,
            format!(
                "cudnn-guard: this program calls `curandSum`, but `curand64_10.dll` cannot be loaded  [library-not-found]\n  \
                 = help: {release}add the directory of curand64_10.dll to PATH\n  \
                 loader      curand64_10.dll: Module not found. (os error 126)\n"
            )
        );
        let ran = start(windows, program, "handler", &empty).exits_with(3);
        assert_eq!(
            ran.stdout,
            "library-not-found: this program calls `curandCount`, but `curand64_10.dll` cannot be loaded\n"
        );
        start(windows, program, "handler-panics", &empty)
            .exits_with(78)
            .says("this program calls `curandCount`");

        let ran = start(windows, program, "arguments", &older).exits_with(78);
        let file = path(&older.join(DLL));
        let headline = format!(
            "cudnn-guard: this program calls `curandSum`, but `{file}` does not contain it  [library-not-found]\n"
        );
        assert!(ran.stderr.starts_with(&headline), "{}", ran.stderr);
    }
}

const GUARDED: &str = r#"mod gpu {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

unsafe extern "C" {
    fn cudnnGetVersion() -> usize;
}
#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetModuleHandleA(name: *const u8) -> *const u8;
}

fn main() {
    let is_loaded = || unsafe { !GetModuleHandleA(c"cudnn64_9.dll".as_ptr().cast()).is_null() };
    assert!(!is_loaded());
    if gpu::available() && gpu::check().is_ok() {
        assert!(is_loaded());
        println!("GPU {}", unsafe { cudnnGetVersion() });
    } else {
        println!("CPU");
    }
}
"#;

/// The program calls the cuDNN that the guard checked. Without the driver or cuDNN, it computes on the CPU.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_guarded_program_calls_cudnn_or_computes_on_the_cpu() {
    let windows = &*wine_guard::windows();
    let script = script("gpu.guard().write()?;");
    let script = script.replace(".cuda(\">=13\")", ".cudnn(\">=9.1, <10\")");
    let script = script.replace(".libs([\"curand\"])", "");
    let tree = msvc::linkable("lazy-wine-cudnn");
    let (bin, empty) = (tree.join("bin"), fresh("lazy-wine-empty-2"));
    let driver = windows.system("nvcuda.dll");
    for (name, triple) in [("lazy-guarded-gnu", WINDOWS), ("lazy-guarded-msvc", MSVC)] {
        let program = built(&project(name, &script, GUARDED), triple, |cargo| {
            cargo.env("CUDNN_PATH", &tree)
        });
        let printed = |dir: &Path| start(windows, &program, "", dir).exits_with(0).stdout;
        assert_eq!(printed(&bin), "GPU 91400\n");
        assert_eq!(printed(&empty), "CPU\n");
        let away = driver.with_extension("away");
        fs::rename(&driver, &away).unwrap();
        let without = printed(&bin);
        fs::rename(&away, &driver).unwrap();
        assert_eq!(without, "CPU\n");
    }
}

/// NVIDIA's own import library and DLLs.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn the_real_cudnn_is_called() {
    let cudnn = crate::real::set("cudnn-win-cu12-8.9.7/nvidia/cudnn");
    let windows = &*wine_guard::windows();
    let script = script("").replace(".cuda(\">=13\")", ".cudnn(\">=8, <9\")");
    let script = script.replace(".libs([\"curand\"])", "");
    let main = "use cudnn_guard as _;\nunsafe extern \"C\" { fn cudnnGetVersion() -> usize; }\n\
                fn main() {\n    if std::env::args().nth(1).as_deref() == Some(\"call\") {\n        \
                println!(\"{}\", unsafe { cudnnGetVersion() });\n    }\n}\n";
    let empty = fresh("lazy-wine-empty-3");
    for (name, triple) in [("lazy-real-gnu", WINDOWS), ("lazy-real-msvc", MSVC)] {
        let program = built(&project(name, &script, main), triple, |cargo| {
            cargo.env("CUDNN_PATH", &cudnn)
        });
        let ran = start(windows, &program, "call", &cudnn.join("bin")).exits_with(0);
        assert_eq!(ran.stdout, "8907\n");
        start(windows, &program, "", &empty).exits_with(0);
        start(windows, &program, "call", &empty)
            .exits_with(78)
            .says("but `cudnn64_8.dll` cannot be loaded  [cudnn-not-loadable]");
    }
}

/// The program itself, cudarc with `dynamic-linking` and a `-sys` crate call the same cuDNN.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn other_crates_are_lazy_too() {
    let windows = &*wine_guard::windows();
    let tree = msvc::linkable("lazy-wine-consumers-cudnn");
    let cuda = fresh("lazy-wine-consumers-cuda");
    for dir in ["include", "lib/x64"] {
        fs::create_dir_all(cuda.join(dir)).unwrap();
    }
    write(&cuda.join("include/cuda.h"), "#define CUDA_VERSION 13000\n");
    // cudarc refers to functions that the simulated DLLs do not contain.
    let project = consumers::all_kinds("lazy-all-gnu");
    let libraries = [
        ("driver", "nvcuda.dll", cuda.join("lib/x64/cuda.lib")),
        ("cudnn", "cudnn64_9.dll", tree.join("lib/x64/cudnn.lib")),
    ];
    for (module, dll, into) in libraries {
        let mut functions = consumers::declared(&project, module);
        if module == "cudnn" {
            functions.insert("cudnnSubquadraticOpsVersionCheck".to_string());
        }
        let functions: Vec<&str> = functions.iter().map(String::as_str).collect();
        msvc::import_of(dll, &functions, &into);
    }
    let (bin, empty) = (tree.join("bin"), fresh("lazy-wine-empty-4"));
    for (name, triple) in [("lazy-all-gnu", WINDOWS), ("lazy-all-msvc", MSVC)] {
        let program = built(&consumers::all_kinds(name), triple, |cargo| {
            cargo.env("CUDA_PATH", &cuda).env("CUDA_HOME", &cuda);
            cargo.env("CUDNN_PATH", &tree)
        });
        let ran = start(windows, &program, "call", &bin).exits_with(0);
        assert_eq!(ran.stdout, "91400 91400 91400\n");
        let ran = start(windows, &program, "", &bin).exits_with(0);
        assert_eq!(ran.stdout, "computing on the GPU\n");
        // Microsoft's linker creates a table without the versions.
        let introduced = [", introduced in cuDNN 9.22.0", ""][usize::from(triple == MSVC)];
        let headline =
            format!("this program calls `cudnnSubquadraticOpsVersionCheck`{introduced}, but");
        let ran = start(windows, &program, "call-new", &bin).exits_with(78);
        ran.says(&headline).says("  loaded      cuDNN 9.14.0\n");
        let ran = start(windows, &program, "", &empty).exits_with(0);
        assert_eq!((&*ran.stdout, &*ran.stderr), ("computing on the CPU\n", ""));
    }
}
