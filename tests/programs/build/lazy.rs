//! Programs with `Link::Lazy`: an own library takes the place of cuRAND, with functions of all kinds.

pub mod consumers;
pub mod exports;
pub mod forms;
pub mod guarded;

use crate::support::builds::{toolkit, write};
use crate::support::{Ran, built, cargo, fresh, project, run, target};
use std::path::{Path, PathBuf};
use std::process::Command;

pub const LIBRARY: &str = include_str!("lazy/library.c");
pub const MAIN: &str = include_str!("lazy/main.rs");
const SONAME: &str = "libcurand.so.99";

/// Compiles C into a shared library with the SONAME of cuRAND. A panic in a callback may pass through it.
fn library(file: &Path, source: &str, arguments: &[&str]) {
    let code = file.with_extension("c");
    write(&code, source);
    compile("cc", file, &code, arguments);
}

/// Compiles a shared library with the SONAME of cuRAND.
fn compile(compiler: &str, file: &Path, code: &Path, arguments: &[&str]) {
    let mut compiler = Command::new(compiler);
    compiler
        .args(["-shared", "-fPIC", "-fexceptions", "-O1", "-o"])
        .arg(file);
    compiler.arg(format!("-Wl,-soname,{SONAME}")).arg(code);
    run(compiler.args(arguments)).exits_with(0);
    std::fs::remove_file(code).unwrap();
}

/// Creates a toolkit with the library.
fn installed(name: &str) -> PathBuf {
    let cuda = fresh(name);
    toolkit(&cuda, 13000, false);
    let lib = cuda.join("lib64");
    library(&lib.join(SONAME), LIBRARY, &[]);
    std::os::unix::fs::symlink(SONAME, lib.join("libcurand.so")).unwrap();
    cuda
}

/// Returns a build script that links cuRAND lazily, with more lines.
pub fn script(more: &str) -> String {
    format!(
        "fn main() {{\n    cudnn_guard::build(|| {{\n        let config = cudnn_guard::Config::new().cuda(\">=13\");\n        \
         let gpu = config.libs([\"curand\"]).link(cudnn_guard::Link::Lazy).probe()?;\n        gpu.link();\n        \
         {more}\n        Ok(())\n    }});\n}}\n"
    )
}

fn build(dir: &Path, cuda: &Path, arguments: &[&str]) -> Ran {
    let arguments = [&["build"], arguments].concat();
    run(cargo(dir, &arguments)
        .env("CUDA_HOME", cuda)
        .env("CUDA_PATH", cuda))
}

/// Returns the finished program, built once, and its toolkit.
fn program() -> &'static (PathBuf, PathBuf) {
    static PROGRAM: std::sync::OnceLock<(PathBuf, PathBuf)> = std::sync::OnceLock::new();
    PROGRAM.get_or_init(|| {
        let cuda = installed("lazy-toolkit");
        let dir = project("lazy", &script(""), MAIN);
        build(&dir, &cuda, &[]).exits_with(0);
        (built("lazy"), cuda)
    })
}

fn start(program: &Path, act: &str, libraries: Option<&Path>) -> Ran {
    let mut command = Command::new(program);
    command.arg(act).env_remove("LD_LIBRARY_PATH");
    if let Some(dir) = libraries {
        command.env("LD_LIBRARY_PATH", dir);
    }
    run(&mut command)
}

/// Arguments in registers and on the stack, structures, variable arguments, callbacks and results arrive unchanged, at
/// the first call and at later ones.
#[test]
fn every_kind_of_argument_reaches_the_library() {
    let (program, _) = program();
    let ran = start(program, "arguments", None).exits_with(0);
    let once = "sum 1496\nmixed 264.5\ntriple 7 8 9\nvariadic 6.5\nvector 110\ncallback 42\n";
    assert_eq!(ran.stdout, format!("{once}{once}"));
    run(Command::new("readelf").arg("-d").arg(program))
        .exits_with(0)
        .does_not_say("curand");
}

#[test]
fn functions_work_in_every_situation() {
    let (program, _) = program();
    for (act, expected) in [
        // Each thread's first call opens the library, all at the same time.
        ("threads", "16 threads, 1600 calls\n"),
        ("fork", "child 2\nparent 2\n"),
        // A panic in a callback passes back to Rust.
        ("panic", "caught a panic in the callback\n"),
        // A program that closes its own handle does not unload the library.
        ("close", "1 2\n"),
    ] {
        assert_eq!(start(program, act, None).exits_with(0).stdout, expected);
    }
}

/// The program starts without the library. The first call names what is missing, or asks the handler.
#[test]
fn a_missing_library_is_named_at_the_first_call() {
    let cuda = installed("lazy-missing-toolkit");
    let dir = project("lazy-missing", &script(""), MAIN);
    build(&dir, &cuda, &[]).exits_with(0);
    let program = built("lazy-missing");
    let away = fresh("lazy-away");
    std::fs::rename(cuda.join("lib64").join(SONAME), away.join(SONAME)).unwrap();
    start(&program, "nothing", None).exits_with(0);
    let ran = start(&program, "arguments", None).exits_with(78);
    assert_eq!(ran.stdout, "");
    assert_eq!(
        ran.stderr,
        "cudnn-guard: this program calls `curandSum`, but `libcurand.so.99` cannot be loaded  [library-not-found]\n  \
         = help: install CUDA 13, or add the directory of libcurand.so.99 to LD_LIBRARY_PATH\n  \
         loader      libcurand.so.99: cannot open shared object file: No such file or directory\n"
    );
    let ran = start(&program, "handler", None).exits_with(3);
    assert_eq!(
        ran.stdout,
        "library-not-found: this program calls `curandCount`, but `libcurand.so.99` cannot be loaded\n"
    );
    // A panic in the handler cannot unwind through the call.
    start(&program, "handler-panics", None)
        .exits_with(78)
        .says("this program calls `curandCount`");
    // The handler itself may call such a function.
    start(&program, "handler-calls", None)
        .exits_with(78)
        .says("this program calls `curandCount`");
    // What the help says.
    start(&program, "arguments", Some(&away)).exits_with(0);
}

/// A library that is older than the one of the build has fewer functions.
#[test]
fn a_missing_function_is_named() {
    let (program, _) = program();
    let older = fresh("lazy-older");
    let file = older.join(SONAME);
    library(&file, "int curandCount(void) { return 1; }\n", &[]);
    let ran = start(program, "arguments", Some(&older)).exits_with(78);
    let file = file.display();
    assert_eq!(
        ran.stderr,
        format!(
            "cudnn-guard: this program calls `curandSum`, but `{file}` does not contain it  [library-not-found]\n  \
             = help: install CUDA 13.0 or later\n  built with  CUDA 13.0\n"
        )
    );
}

/// A variable cannot be forwarded. The driver's library exports some for debuggers, which programs do not use.
#[test]
fn the_linker_names_a_variable() {
    let cuda = installed("lazy-variable-toolkit");
    let file = cuda.join("lib64").join(SONAME);
    let source = "int curandState = 1;\nint curandCount(void) { return 1; }\n";
    library(&file, source, &[]);
    let main = "use cudnn_guard as _;\nunsafe extern \"C\" { static curandState: i32; fn curandCount() -> i32; }\n\
                fn main() { println!(\"{}\", unsafe { curandCount() + curandState }); }\n";
    let dir = project("lazy-variable", &script(""), main);
    let ran = build(&dir, &cuda, &[]).exits_with(101);
    assert!(
        ran.stderr.contains("undefined symbol: curandState"),
        "{}",
        ran.stderr
    );
    assert!(
        !ran.stderr.contains("undefined symbol: curandCount"),
        "{}",
        ran.stderr
    );
}

/// An unknown library is an error, since there is nothing to read its functions from.
#[test]
fn a_library_that_the_toolkit_lacks_is_refused() {
    let cuda = installed("lazy-lacking-toolkit");
    let script = script("").replace("\"curand\"", "\"curandabsent\"");
    let dir = project("lazy-lacking", &script, "fn main() {}\n");
    let ran = build(&dir, &cuda, &[]).exits_with(101);
    assert!(
        ran.stderr
            .contains("does not contain the library `curandabsent`"),
        "{}",
        ran.stderr
    );
}

/// A library that another library needs is named, not the one that is called.
#[test]
fn a_missing_dependency_of_a_library_is_named() {
    let (program, _) = program();
    let dir = fresh("lazy-dependency");
    let absent = dir.join("libabsent.so.1");
    run(Command::new("cc")
        .args(["-shared", "-Wl,-soname,libabsent.so.1", "-o"])
        .arg(&absent))
    .exits_with(0);
    let file = dir.join(SONAME);
    let absent_text = absent.to_str().unwrap();
    library(&file, LIBRARY, &["-Wl,--no-as-needed", absent_text]);
    std::fs::remove_file(&absent).unwrap();
    let ran = start(program, "arguments", Some(&dir)).exits_with(78);
    assert_eq!(
        ran.stderr,
        format!(
            "cudnn-guard: `{}` needs libabsent.so.1, which the loader cannot find  [library-not-found]\n  \
             = help: install libabsent.so.1, or add its directory to LD_LIBRARY_PATH\n  \
             loader      libabsent.so.1: cannot open shared object file: No such file or directory\n  \
             called      curandSum\n",
            file.display()
        )
    );
}

/// A library that build.rs no longer names is no longer lazy, not even for another crate.
#[test]
fn archives_of_an_earlier_build_are_removed() {
    let cuda = installed("lazy-earlier-toolkit");
    for package in std::fs::read_dir(target().join("debug/build"))
        .into_iter()
        .flatten()
    {
        let package = package.unwrap().path();
        if package.to_str().unwrap().contains("/lazy-earlier-") {
            std::fs::remove_dir_all(package).unwrap();
        }
    }
    let dir = project(
        "lazy-earlier",
        &script(""),
        "use cudnn_guard as _;\nfn main() {}\n",
    );
    build(&dir, &cuda, &[]).exits_with(0);
    let archives = || {
        let mut names = Vec::new();
        for package in std::fs::read_dir(target().join("debug/build")).unwrap() {
            let package = package.unwrap().path();
            if package.to_str().unwrap().contains("/lazy-earlier-") {
                let archives = std::fs::read_dir(package.join("out/cudnn-guard/lazy"));
                for archive in archives.into_iter().flatten() {
                    names.push(archive.unwrap().file_name().into_string().unwrap());
                }
            }
        }
        names.sort();
        names
    };
    assert_eq!(archives(), ["libcudart.a", "libcurand.a"]);
    let other = script("").replace("\"curand\"", "");
    write(&dir.join("build.rs"), &other.replace("[]", "[\"cudart\"]"));
    build(&dir, &cuda, &[]).exits_with(0);
    assert_eq!(archives(), ["libcudart.a"]);
}

/// `available()` exists without CUDA too.
#[test]
fn an_optional_program_without_cuda_has_nothing_available() {
    let nowhere = fresh("lazy-optional-root");
    let settings = format!(".cudnn(\">=9.1, <10\").optional(true).root({nowhere:?})");
    let script = script("gpu.guard().write()?;").replace(".cuda(\">=13\")", &settings);
    let main = "mod gpu {\n    include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\"));\n}\n\
                fn main() { println!(\"{}\", gpu::available()); }\n";
    let dir = project("lazy-optional", &script, main);
    let ran = run(&mut cargo(&dir, &["run"])).exits_with(0);
    assert_eq!(ran.stdout, "false\n");
}

/// Opening such a file could kill the process.
#[test]
fn a_truncated_library_is_not_opened() {
    let (program, cuda) = program();
    let dir = fresh("lazy-truncated");
    let file = dir.join(SONAME);
    let whole = std::fs::read(cuda.join("lib64").join(SONAME)).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    start(program, "arguments", Some(&dir))
        .exits_with(78)
        .says(&format!("`{}`", file.display()))
        .says("[library-not-found]")
        .says("called      curandSum");
}
