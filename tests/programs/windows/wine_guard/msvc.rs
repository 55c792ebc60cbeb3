//! The guard as most Windows users build it: in a program for `x86_64-pc-windows-msvc`.
//!
//! These parts are real: rustc's output for that target, its linker `lld-link`, the sections through which the guard's
//! child enters the program (`.CRT$XCU`), and the tables of `/DELAYLOAD`. Microsoft's linker and SDK are not available
//! here. The import libraries are made from Wine's DLLs. `tests/programs/windows/wine_guard/msvc` replaces what
//! `msvcrt.lib` and `delayimp.lib` provide: the start of the program, which calls the constructors, and the loading of
//! a delayed DLL.

use super::{V9_14, start, windows};
use crate::support::simulated::{copy, for_windows};
use crate::support::{cargo, consumers, fresh, program, run, target};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub const MSVC: &str = "x86_64-pc-windows-msvc";
const WINE: &str = "/usr/lib/x86_64-linux-gnu/wine/x86_64-windows";
/// The libraries that a Rust program links to, and those of Microsoft's C runtime.
const SYSTEM: [&str; 5] = ["kernel32", "ntdll", "userenv", "ws2_32", "dbghelp"];
const RUNTIME: [&str; 2] = ["ucrtbase", "vcruntime140"];

/// Replacements for objects of Microsoft's libraries. The linker uses the last one unless the program defines the hook.
const STARTUP: [(&str, &str); 3] = [
    ("msvcrt", include_str!("msvc/msvcrt.rs")),
    ("delayimp", include_str!("msvc/delayimp.rs")),
    (
        "hook",
        "#![no_std]\n#[unsafe(no_mangle)]\npub static __pfnDliFailureHook2: usize = 0;\n",
    ),
];

/// Creates a directory of libraries for the linker. Its name changes with their sources, so that cargo links again.
fn libraries() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        STARTUP.hash(&mut hasher);
        let folder = fresh(&format!("wine-msvc-{:016x}", hasher.finish()));
        for name in SYSTEM.iter().chain(&RUNTIME) {
            let dll = Path::new(WINE).join(format!("{name}.dll"));
            import(&dll, &folder.join(format!("{name}.lib")));
        }
        for (name, text) in STARTUP {
            let (source, object) = (format!("{name}.rs"), format!("{name}.obj"));
            fs::write(folder.join(&source), text).unwrap();
            let mut rustc = program("rustc");
            rustc.args(["--edition=2024", "--target", MSVC, "--crate-type=lib"]);
            let panic = match name {
                "delayimp" => "-Cpanic=unwind",
                _ => "-Cpanic=abort",
            };
            rustc.args(["--emit=obj", "-O", panic, "-Dwarnings"]);
            rustc.args(["-Aimproper_ctypes_definitions", "-o", &object]);
            run(rustc.arg(source).current_dir(&folder)).exits_with(0);
        }
        let mut msvcrt = archive(&folder.join("msvcrt.lib"));
        msvcrt.arg(folder.join("msvcrt.obj"));
        run(msvcrt.args(RUNTIME.map(|name| folder.join(format!("{name}.lib"))))).exits_with(0);
        let mut delayimp = archive(&folder.join("delayimp.lib"));
        let objects = ["delayimp.obj", "hook.obj"];
        run(delayimp.args(objects.map(|name| folder.join(name)))).exits_with(0);
        folder
    })
}

/// Creates the import library of a DLL, with everything that the DLL exports by name.
pub fn import(dll: &Path, into: &Path) {
    let table = run(program("x86_64-w64-mingw32-objdump").arg("-p").arg(dll)).exits_with(0);
    let (_, names) = table.stdout.split_once("Name Pointer] Table").unwrap();
    let names = names
        .lines()
        .skip(1)
        .map_while(|line| line.split_once("] "));
    let names: Vec<&str> = names.map(|(_, name)| name).collect();
    assert!(!names.is_empty(), "{}", dll.display());
    import_of(dll.file_name().unwrap().to_str().unwrap(), &names, into);
}

/// Creates the import library of a DLL with these functions.
pub fn import_of(dll: &str, names: &[&str], into: &Path) {
    let text = format!("LIBRARY {dll}\nEXPORTS\n{}\n", names.join("\n"));
    let definition = into.with_extension("def");
    fs::write(&definition, text).unwrap();
    let definition = format!("/def:{}", definition.display());
    run(archive(into).arg("/machine:x64").arg(definition)).exits_with(0);
}

/// Returns a command that acts as `lib.exe`: rustc's linker.
fn archive(into: &Path) -> Command {
    let mut rustc = program("rustc");
    let root = run(rustc.args(["--print", "sysroot"])).exits_with(0).stdout;
    let tools = "lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld";
    let mut command = program(Path::new(root.trim()).join(tools));
    command
        .args(["-flavor", "link", "/lib"])
        .arg(format!("/out:{}", into.display()));
    command
}

/// Sets rustc's linker and the libraries for a build.
pub fn link(cargo: &mut Command) -> &mut Command {
    let flags = format!("-Lnative={}", libraries().display());
    cargo.env("CARGO_TARGET_X86_64_PC_WINDOWS_MSVC_LINKER", "rust-lld");
    cargo.env("CARGO_TARGET_X86_64_PC_WINDOWS_MSVC_RUSTFLAGS", flags)
}

/// Builds a consumer against this installation.
fn built(name: &str, cudnn: &Path) -> PathBuf {
    built_with(name, cudnn, &[])
}

fn built_with(name: &str, cudnn: &Path, flags: &[&str]) -> PathBuf {
    let mut cargo = cargo(consumers(), &["rustc", "--target", MSVC, "-p", name]);
    cargo.arg("--").args(flags).env("CUDNN_PATH", cudnn);
    run(link(&mut cargo)).exits_with(0);
    let file = format!("{name}.exe");
    target().join(MSVC).join("debug").join(file)
}

/// Builds the program that opens cuDNN itself.
pub fn circumstances() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built("circumstances", Path::new("")))
}

/// Creates an installation with an import library.
pub fn linkable(name: &str) -> PathBuf {
    let tree = fresh(name);
    copy(&for_windows(V9_14), &tree);
    fs::create_dir_all(tree.join("lib/x64")).unwrap();
    import(
        &tree.join("bin/cudnn64_9.dll"),
        &tree.join("lib/x64/cudnn.lib"),
    );
    tree
}

/// Programs linked with `/DELAYLOAD`: by their own build script, or by the build script of a program that uses a `-sys`
/// crate.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_linked_msvc_program_is_guarded_before_its_dll_is_loaded() {
    let tree = linkable("wine-msvc-cudnn");
    let windows = &*windows();
    for name in ["linked", "above"] {
        let program = built(name, &tree);
        let with = |folders: &[&Path]| start(windows, &program, folders, &[], &[]);
        with(&[&tree.join("bin")])
            .exits_with(0)
            .says("cudnnGetVersion() = 91400");
        with(&[])
            .exits_with(78)
            .says("[cudnn-not-loadable]")
            .says("cudnn64_9.dll")
            .does_not_say("cudnnGetVersion");
    }
}

/// With a custom entry point, the constructors are not called, and the child runs `main`.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn an_msvc_child_that_runs_main_starts_no_child() {
    let tree = linkable("wine-msvc-entry");
    let windows = &*windows();
    let program = built_with("linked", &tree, &["-Clink-arg=/ENTRY:main"]);
    let env = [("CUDNN_GUARD_DEADLINE", "20")];
    start(windows, &program, &[&tree.join("bin")], &[], &env)
        .exits_with(0)
        .says("[child-not-started]")
        .says("ended silently while starting")
        .says("cudnnGetVersion() = 91400");
}
