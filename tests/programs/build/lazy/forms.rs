//! `Link::Lazy` in programs of other forms: with other crates that link the same library, as a shared library, optimized,
//! and with C++.

use super::{MAIN, SONAME, build, compile, installed, script, start};
use crate::support::builds::write;
use crate::support::{built, cargo, fresh, project, run, target};
use std::fs;
use std::path::Path;
use std::process::Command;

const COUNT: &str = "unsafe extern \"C\" { fn curandCount() -> i32; }\n\
                     pub fn count() -> i32 { unsafe { curandCount() } }\n";

/// Creates a library crate beside a program, with this build script.
fn dependency(program: &Path, name: &str, script: &str) {
    let dir = program.join(name);
    fs::create_dir_all(dir.join("src")).unwrap();
    let manifest = fs::read_to_string(program.join("Cargo.toml")).unwrap();
    let (head, tail) = manifest.split_once("[dependencies]").unwrap();
    let own = head.lines().nth(1).unwrap();
    let head = head.replace(own, &format!("name = \"{name}\"\nlinks = \"{name}\""));
    let tail = tail.replace("\n[workspace]\n", "");
    let lines = tail.lines().filter(|line| !line.starts_with("curand"));
    let of_dependency = lines.collect::<Vec<_>>().join("\n");
    write(
        &dir.join("Cargo.toml"),
        &format!("{head}[dependencies]{of_dependency}"),
    );
    write(&dir.join("build.rs"), script);
    write(
        &dir.join("src/lib.rs"),
        &format!("use cudnn_guard as _;\n{COUNT}"),
    );
    let manifest = manifest.replace(
        "[dependencies]\n",
        &format!("[dependencies]\n{name} = {{ path = \"{name}\" }}\n"),
    );
    write(&program.join("Cargo.toml"), &manifest);
}

/// Returns a build script that passes this library to the linker.
fn links(kind: &str, dir: &Path, name: &str) -> String {
    format!(
        "fn main() {{\n    println!(\"cargo::rustc-link-search=native={}\");\n    \
         println!(\"cargo::rustc-link-lib={kind}={name}\");\n}}\n",
        dir.display()
    )
}

fn needed(file: &Path) -> String {
    let ran = run(Command::new("readelf").arg("-d").arg(file)).exits_with(0);
    let lines = ran.stdout.lines().filter(|line| line.contains("(NEEDED)"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A crate that passes `-lcurand` to the linker, as cudarc and candle do, gets the lazy functions too. Crates of a program
/// that link it lazily share them.
#[test]
fn crates_that_link_the_same_library_share_its_functions() {
    let cuda = installed("lazy-below-toolkit");
    let dir = fresh("lazy-below");
    fs::remove_dir_all(dir).unwrap();
    let main = "fn main() { if std::env::args().count() > 2 { println!(\"{} {}\", curand_below::count(), curand_other::count()); } }\n";
    let dir = project("lazy-below", &script(""), main);
    let lib = cuda.join("lib64");
    dependency(&dir, "curand_below", &links("dylib", &lib, "curand"));
    dependency(&dir, "curand_other", &script(""));
    build(&dir, &cuda, &[]).exits_with(0);
    let program = built("lazy-below");
    assert!(!needed(&program).contains("curand"), "{}", needed(&program));
    let ran = run(Command::new(&program).args(["a", "b"])).exits_with(0);
    assert_eq!(ran.stdout, "1 2\n");
    fs::remove_file(lib.join(SONAME)).unwrap();
    start(&program, "nothing", None).exits_with(0);
}

/// A shared library, such as a Python extension, contains its own functions and exports none of them.
#[test]
fn a_shared_library_opens_it_too() {
    let cuda = installed("lazy-shared-toolkit");
    let dir = project("lazy-shared", &script(""), "");
    fs::remove_file(dir.join("src/main.rs")).unwrap();
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
    if !manifest.contains("cdylib") {
        let manifest = manifest.replace(
            "[workspace]",
            "[lib]\ncrate-type = [\"cdylib\"]\n\n[workspace]",
        );
        write(&dir.join("Cargo.toml"), &manifest);
    }
    let code = format!(
        "use cudnn_guard as _;\n{COUNT}#[unsafe(no_mangle)]\npub extern \"C\" fn total() -> i32 {{ count() + count() }}\n"
    );
    write(&dir.join("src/lib.rs"), &code);
    build(&dir, &cuda, &[]).exits_with(0);
    let library = target().join("debug/liblazy_shared.so");
    assert!(!needed(&library).contains("curand"));
    let ran = run(Command::new("readelf")
        .args(["--dyn-syms", "-W"])
        .arg(&library))
    .exits_with(0);
    assert!(!ran.stdout.contains("curand"), "{}", ran.stdout);
    let opened = fresh("lazy-shared-opened");
    let c = "#include <dlfcn.h>\n#include <stdio.h>\n\
             int main(int count, char **all) {\n    int (*total)(void) = dlsym(dlopen(all[1], RTLD_NOW), \"total\");\n    \
             printf(\"%d\\n\", total());\n    return 0;\n}\n";
    write(&opened.join("main.c"), c);
    let program = opened.join("main");
    run(Command::new("cc")
        .arg("-o")
        .arg(&program)
        .arg(opened.join("main.c"))
        .arg("-ldl"))
    .exits_with(0);
    let ran = run(Command::new(&program).arg(&library)).exits_with(0);
    assert_eq!(ran.stdout, "3\n");
}

/// An exception of the library reaches C++ code of the program, at the first call of the function.
#[test]
#[ignore = "needs g++"]
fn a_cpp_exception_passes_through() {
    let cuda = installed("lazy-cpp-toolkit");
    let cpp = fresh("lazy-cpp-code");
    let throws = cpp.join("throws.cpp");
    write(
        &throws,
        "extern \"C\" void curandThrow(int number) { throw number; }\n",
    );
    compile("g++", &cuda.join("lib64").join(SONAME), &throws, &[]);
    let source = "extern \"C\" void curandThrow(int);\n\
                  extern \"C\" int caught(int number) {\n    try {\n        curandThrow(number);\n    } catch (int thrown) {\n        \
                  return thrown;\n    }\n    return 0;\n}\n";
    write(&cpp.join("caught.cpp"), source);
    let object = cpp.join("caught.o");
    run(Command::new("g++")
        .args(["-c", "-fPIC", "-o"])
        .arg(&object)
        .arg(cpp.join("caught.cpp")))
    .exits_with(0);
    run(Command::new("ar")
        .arg("rcs")
        .arg(cpp.join("libcaught.a"))
        .arg(&object))
    .exits_with(0);
    let more = format!(
        "println!(\"cargo::rustc-link-search=native={}\");\n        println!(\"cargo::rustc-link-lib=static=caught\");\n        \
         println!(\"cargo::rustc-link-lib=dylib=stdc++\");",
        cpp.display()
    );
    // The C++ code comes before the functions that it calls.
    let script = script("").replace("let config", &format!("{more}\n        let config"));
    let main = "use cudnn_guard as _;\nunsafe extern \"C\" { fn caught(number: i32) -> i32; }\n\
                fn main() { println!(\"caught {}\", unsafe { caught(5) + caught(37) }); }\n";
    let dir = project("lazy-cpp", &script, main);
    build(&dir, &cuda, &[]).exits_with(0);
    let ran = run(&mut Command::new(built("lazy-cpp"))).exits_with(0);
    assert_eq!(ran.stdout, "caught 42\n");
}

/// A program with a static C library has no loader.
#[test]
fn a_static_program_is_refused() {
    let cuda = installed("lazy-static-toolkit");
    let dir = project("lazy-static", &script(""), "fn main() {}\n");
    let mut command = cargo(&dir, &["build", "--target", "x86_64-unknown-linux-gnu"]);
    command.env("CUDA_HOME", &cuda).env("CUDA_PATH", &cuda);
    command.env("RUSTFLAGS", "-C target-feature=+crt-static");
    let ran = run(&mut command).exits_with(101);
    assert!(
        ran.stderr.contains(
            "`Link::Lazy` opens shared libraries built for glibc, which a program with a static C library or for musl cannot do  \
             [config-invalid]"
        ),
        "{}",
        ran.stderr
    );
}

/// Link-time optimization, no symbols, immediate binding, and no unwinding tables beyond what the program needs.
#[test]
#[ignore = "optimizes the standard library too: .ci/run"]
fn an_optimized_program_works() {
    let cuda = installed("lazy-optimized-toolkit");
    let dir = project("lazy-optimized", &script(""), MAIN);
    let target = fresh("lazy-optimized-target");
    let mut command = cargo(&dir, &["build", "--release"]);
    command.env("CUDA_HOME", &cuda).env("CUDA_PATH", &cuda);
    command.env("CARGO_TARGET_DIR", &target);
    command.env("CARGO_PROFILE_RELEASE_LTO", "fat");
    command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1");
    command.env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    command.env(
        "RUSTFLAGS",
        "-C link-arg=-Wl,-z,now -C link-arg=-Wl,--gc-sections",
    );
    run(&mut command).exits_with(0);
    let program = target.join("release/lazy-optimized");
    for act in ["arguments", "threads", "fork", "panic", "close"] {
        start(&program, act, None).exits_with(0);
    }
}

/// Kernels call cudart before `main`. A crate that passes `-lcudart` to the linker gets the static one, here from GNU's
/// linker, which searches a static library only once.
#[test]
fn a_program_with_kernels_starts_without_cudart() {
    let cuda = installed("lazy-kernels-toolkit");
    let code = fresh("lazy-kernels-code");
    let archive = |name: &str, into: &Path, source: &str| {
        let (c, object) = (
            code.join(format!("{name}.c")),
            code.join(format!("{name}.o")),
        );
        write(&c, source);
        run(Command::new("cc")
            .args(["-c", "-fPIC", "-o"])
            .arg(&object)
            .arg(&c))
        .exits_with(0);
        let _ = fs::remove_file(into);
        run(Command::new("ar").arg("rcs").arg(into).arg(&object)).exits_with(0);
    };
    let runtime = "int registered;\nvoid __cudaRegisterFatBinary(void) { registered += 1; }\n\
                   int cudaRegistered(void) { return registered; }\n";
    archive("cudart", &cuda.join("lib64/libcudart_static.a"), runtime);
    let kernels = "void __cudaRegisterFatBinary(void);\nint cudaRegistered(void);\n\
                   __attribute__((constructor)) static void register_kernels(void) { __cudaRegisterFatBinary(); }\n\
                   int launched(void) { return cudaRegistered(); }\n";
    archive("kernels", &code.join("libkernels.a"), kernels);
    let shared = cuda.join("lib64/libcudart.so.13");
    run(Command::new("cc")
        .args(["-shared", "-Wl,-soname,libcudart.so.13", "-o"])
        .arg(&shared))
    .exits_with(0);
    std::os::unix::fs::symlink("libcudart.so.13", cuda.join("lib64/libcudart.so")).unwrap();
    let dir = fresh("lazy-kernels");
    fs::remove_dir_all(dir).unwrap();
    let main = "unsafe extern \"C\" { fn launched() -> i32; }\n\
                fn main() { println!(\"{} {}\", unsafe { launched() }, curand_kernels::count()); }\n";
    let own = script("println!(\"cargo::rustc-link-arg=-fuse-ld=bfd\");");
    let own = own.replace("\"curand\"", "\"curand\", \"cudart\"");
    let dir = project("lazy-kernels", &own, main);
    let lib = cuda.join("lib64");
    let below = [
        links("static", &code, "kernels"),
        links("dylib", &lib, "cudart"),
        links("dylib", &lib, "curand"),
    ];
    let below = below.map(|script| script.replace("fn main() {\n", "{\n"));
    dependency(
        &dir,
        "curand_kernels",
        &format!("fn main() {{\n{}}}\n", below.concat()),
    );
    build(&dir, &cuda, &[]).exits_with(0);
    let program = built("lazy-kernels");
    assert!(!needed(&program).contains("libcu"), "{}", needed(&program));
    let linkers = run(Command::new("readelf")
        .args(["-p", ".comment"])
        .arg(&program));
    linkers.exits_with(0).does_not_say("Linker: LLD");
    let ran = run(&mut Command::new(&program)).exits_with(0);
    assert_eq!(ran.stdout, "1 1\n");
}
