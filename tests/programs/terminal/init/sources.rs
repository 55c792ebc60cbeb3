//! Crates whose guard is in a module, and libraries of several kinds.

#[cfg(unix)]
use super::command;
use super::{file, init, package, read};
#[cfg(unix)]
use crate::support::run;
use std::fs;
#[cfg(unix)]
use std::process::Command;

const INCLUDE: &str = "include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\"));\n";

#[test]
fn a_guard_in_another_file_of_the_crate_is_found() {
    for (module, main) in [
        ("gpu", "mod gpu;\n\nfn main() {\n    gpu::startup();\n}\n"),
        ("lib", "fn main() {\n    if module::check().is_ok() {}\n}\n"),
        (
            "gpu/mod",
            "mod gpu;\n\nuse gpu::check_version;\n\nfn main() {\n    check_version().unwrap();\n}\n",
        ),
    ] {
        let dir = package("module", "");
        init(&dir, &["--write"]).exits_with(0);
        let module = format!("src/{module}.rs");
        file(&dir, &module, INCLUDE);
        file(&dir, "src/main.rs", main);
        for more in ["--check", "--write"] {
            let again = init(&dir, &[more]).exits_with(0);
            assert_eq!(again.stdout, "This crate already uses cudnn-guard.\n");
        }
        assert_eq!(read(&dir, "src/main.rs"), main);
        for code in ["", "// gpu::startup();"] {
            if module == "src/lib.rs" {
                continue;
            }
            let main = format!("mod gpu;\n\nfn main() {{}}\n\n{code}\n");
            file(&dir, "src/main.rs", &main);
            let checked = init(&dir, &["--check"]).exits_with(1);
            let message = "The crate does not call the guard. Call its `startup()` first in `main`, or its `check()` in a \
                           function of a Python module. docs/frameworks.md shows these calls.\n";
            assert_eq!(checked.stderr, message, "{code}");
        }
    }
    // A guard in one program is not part of another.
    let dir = package("two", "");
    init(&dir, &["--write"]).exits_with(0);
    file(&dir, "src/bin/other.rs", "fn main() {}\n");
    init(&dir, &["--check"]).says("missing from `src/bin/other.rs`\n");
}

/// A linker would not find cuDNN's functions in a program that does not use the library.
#[test]
fn the_programs_of_a_package_call_the_guard_of_its_library() {
    let dir = package("both-kinds", "");
    file(&dir, "src/lib.rs", "pub fn add() {}\n");
    file(&dir, "src/bin/other.rs", "fn main() {}\n");
    init(&dir, &["--write"]).exits_with(0);
    let module = format!("mod gpu {{\n    {INCLUDE}}}\n");
    let library = read(&dir, "src/lib.rs");
    let doc = "/// Checks that this process can use the GPU.";
    assert_eq!(library, format!("pub fn add() {{}}\n\n{doc}\npub {module}"));
    for program in ["src/main.rs", "src/bin/other.rs"] {
        let text = read(&dir, program);
        let start = "fn main() {\n    both_kinds::gpu::startup();\n";
        assert!(text.contains(start) && !text.contains("mod gpu"), "{text}");
    }
    init(&dir, &["--check"]).exits_with(0);
    // A guard that the library calls itself, and one in the program, stay as they are.
    file(
        &dir,
        "src/lib.rs",
        &(library + "pub fn f() { gpu::check().unwrap(); }\n"),
    );
    file(&dir, "src/bin/other.rs", "fn main() {}\n");
    init(&dir, &["--check"]).exits_with(0);
    file(&dir, "src/lib.rs", "pub fn add() {}\n");
    for program in ["src/main.rs", "src/bin/other.rs"] {
        file(
            &dir,
            program,
            &format!("{module}\nfn main() {{\n    gpu::startup();\n}}\n"),
        );
    }
    init(&dir, &["--check"]).exits_with(0);
}

#[test]
fn a_python_module_calls_check() {
    let dir = package("fastconv", "\n[lib]\ncrate-type = [\"cdylib\"]\n");
    fs::remove_file(dir.join("src/main.rs")).expect("removed");
    file(&dir, "src/lib.rs", "pub fn f() {}\n");
    let next = "\nCall `gpu::check()` in a function of the module; see docs/python.md.\n\n\
                Next: run `cargo build`.";
    init(&dir, &["--write"]).says(next);
    init(&dir, &["--check"]).exits_with(1);
    let library = read(&dir, "src/lib.rs") + "pub fn g() { gpu::check().unwrap(); }\n";
    file(&dir, "src/lib.rs", &library);
    init(&dir, &["--check"]).exits_with(0);
}

#[test]
fn a_python_module_gets_the_function_check() {
    let dir = package(
        "module-check",
        "\n[lib]\ncrate-type = [\"cdylib\"]\n\n[dependencies]\npyo3 = \"0.30\"\n",
    );
    fs::remove_file(dir.join("src/main.rs")).expect("removed");
    let module = "#[pyo3::pymodule]\nmod fastconv {\n    use pyo3::prelude::*;\n}\n";
    file(&dir, "src/lib.rs", module);
    init(&dir, &["--write"]).exits_with(0).does_not_say("Call ");
    let build = read(&dir, "build.rs");
    assert!(
        build.contains(".rpath_origin(\"../nvidia/cudnn/lib\")"),
        "{build}"
    );
    let library = read(&dir, "src/lib.rs");
    let start = "#[pyo3::pymodule]\nmod fastconv {\n    use crate::gpu::{self, Verdict};\n\n    #[pyo3::pyfunction]\n    fn check() -> ";
    assert!(library.starts_with(start), "{library}");
    assert!(
        library.contains("\n    }\n\n    use pyo3::prelude::*;\n}\n\n///"),
        "{library}"
    );
    init(&dir, &["--check"]).exits_with(0);
    // A function with this name stays.
    file(
        &dir,
        "src/lib.rs",
        &module.replace("    use", "    fn check() {}\n    use"),
    );
    fs::remove_file(dir.join("build.rs")).expect("removed");
    init(&dir, &[]).says("\nCall `gpu::check()` in a function of the module; ");
}

/// Programs call the guard of a library. `init` searches only the sources of one crate, for a name.
#[test]
fn check_finds_a_program_that_calls_no_guard() {
    let guide = fs::read_to_string(crate::support::repository().join("docs/linking.md"));
    let guide = guide.expect("a guide");
    let dir = package("unchecked", "");
    fs::remove_file(dir.join("src/main.rs")).expect("removed");
    file(&dir, "src/lib.rs", "");
    init(&dir, &["--write"]).exits_with(0);
    init(&dir, &["--check"]).exits_with(0);
    let dir = package("checked-by-name", "");
    init(&dir, &["--write"]).exits_with(0);
    let main = read(&dir, "src/main.rs").replace("gpu::startup();", "");
    for (call, code) in [("", 1), ("    other.check();\n", 0)] {
        file(
            &dir,
            "src/main.rs",
            &main.replace("fn main() {\n", &format!("fn main() {{\n{call}")),
        );
        init(&dir, &["--check"]).exits_with(code);
    }
    let stated = "exits with 1 if lines are missing, or if a program or Python module does not call the guard, as far as the \
                  names of the called functions show.";
    assert!(guide.contains(stated));
}

/// Reading a pipe would never end.
#[test]
#[cfg(unix)]
fn a_pipe_in_the_crate_is_not_read() {
    for (code, path) in [
        (1, "build.rs` cannot be read: not a regular file\n"),
        (0, "src/other.rs`"),
        (1, "src/main.rs` cannot be read: not a regular file\n"),
        (1, "Cargo.toml` is not a regular file\n"),
        (1, ".cargo/config.toml` is not a regular file\n"),
    ] {
        let (pipe, _) = path.split_once('`').expect("a path");
        let dir = package("pipe", "");
        fs::create_dir(dir.join(".cargo")).expect("a directory");
        let _ = fs::remove_file(dir.join(pipe));
        let made = Command::new("mkfifo").arg(dir.join(pipe)).status();
        assert!(made.expect("mkfifo").success());
        let init = command(&dir, &[]);
        let mut limited = Command::new("timeout");
        limited.arg("20").arg(init.get_program());
        let ran = run(limited.args(init.get_args())).exits_with(code);
        assert_eq!(ran.stderr.contains(path), code == 1, "{}", ran.stderr);
    }
}
