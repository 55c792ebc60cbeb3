//! Crates whose guard is in a module, and libraries of several kinds.

#[cfg(unix)]
use super::command;
use super::{complaint, file, init, must_exit, package, read, text};
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
        must_exit(&init(&dir, &["--write"]), 0);
        let module = format!("src/{module}.rs");
        file(&dir, &module, INCLUDE);
        file(&dir, "src/main.rs", main);
        for more in ["--check", "--write"] {
            let again = init(&dir, &[more]);
            must_exit(&again, 0);
            assert_eq!(text(&again), "This crate already uses cudnn-guard.\n");
        }
        assert_eq!(read(&dir, "src/main.rs"), main);
        for code in ["", "// gpu::startup();"] {
            let main = format!("mod gpu;\n\nfn main() {{}}\n\n{code}\n");
            file(&dir, "src/main.rs", &main);
            let checked = init(&dir, &["--check"]);
            must_exit(&checked, 1);
            let message = "The crate does not call the guard. Call its `startup()` first in `main`, or its `check()` in a \
                           function of a Python module. docs/linking.md shows these calls.\n";
            assert_eq!(complaint(&checked), message, "{code}");
        }
    }
    // A guard in one program is not part of another.
    let dir = package("two", "");
    must_exit(&init(&dir, &["--write"]), 0);
    file(&dir, "src/bin/other.rs", "fn main() {}\n");
    let checked = complaint(&init(&dir, &["--check"]));
    assert!(
        checked.contains("missing from `src/bin/other.rs`\n"),
        "{checked}"
    );
}

#[test]
fn a_python_module_calls_check() {
    let dir = package("fastconv", "\n[lib]\ncrate-type = [\"cdylib\"]\n");
    fs::remove_file(dir.join("src/main.rs")).expect("removed");
    file(&dir, "src/lib.rs", "pub fn f() {}\n");
    let written = text(&init(&dir, &["--write"]));
    let next = "\nCall `gpu::check()` in a function of the module; see \"Python wheels\" in docs/linking.md.\n\n\
                Next: run `cargo build`.";
    assert!(written.contains(next), "{written}");
    must_exit(&init(&dir, &["--check"]), 1);
    let library = read(&dir, "src/lib.rs") + "pub fn g() { gpu::check().unwrap(); }\n";
    file(&dir, "src/lib.rs", &library);
    must_exit(&init(&dir, &["--check"]), 0);
}

#[test]
fn a_library_with_kernels_is_built() {
    let dir = package(
        "kernel-library",
        "\n[build-dependencies]\nbindgen_cuda = \"0.1\"\n",
    );
    fs::rename(dir.join("src/main.rs"), dir.join("src/lib.rs")).expect("renamed");
    let script = "fn main() {\n    bindgen_cuda::Builder::default().build_lib(\"libadd.a\");\n}\n";
    file(&dir, "build.rs", script);
    let written = text(&init(&dir, &["--write"]));
    assert!(written.contains("\nNext: run `cargo build`."), "{written}");
}

/// Programs call the guard of a library. `init` searches only the sources of one crate, for a name.
#[test]
fn check_finds_a_program_that_calls_no_guard() {
    let guide = fs::read_to_string(crate::support::repository().join("docs/linking.md"));
    let guide = guide.expect("a guide");
    let dir = package("unchecked", "");
    fs::remove_file(dir.join("src/main.rs")).expect("removed");
    file(&dir, "src/lib.rs", "");
    must_exit(&init(&dir, &["--write"]), 0);
    must_exit(&init(&dir, &["--check"]), 0);
    let dir = package("checked-by-name", "");
    must_exit(&init(&dir, &["--write"]), 0);
    let main = read(&dir, "src/main.rs").replace("gpu::startup();", "");
    for (call, code) in [("", 1), ("    other.check();\n", 0)] {
        file(
            &dir,
            "src/main.rs",
            &main.replace("fn main() {\n", &format!("fn main() {{\n{call}")),
        );
        must_exit(&init(&dir, &["--check"]), code);
    }
    let stated = "exits with 1 if lines are missing, or if a program or Python module does not call the guard, as far as the \
                  names of the called functions show. It does not check calls to a library's guard.";
    assert!(guide.contains(stated));
}

/// Reading a pipe would never end.
#[test]
#[cfg(unix)]
fn a_pipe_in_the_crate_is_not_read() {
    for (pipe, code, message) in [
        (
            "build.rs",
            1,
            "build.rs` cannot be read: not a regular file\n",
        ),
        ("src/other.rs", 0, ""),
        (
            "src/main.rs",
            1,
            "main.rs` cannot be read: not a regular file\n",
        ),
        ("Cargo.toml", 1, "Cargo.toml` is not a regular file\n"),
        (
            ".cargo/config.toml",
            1,
            "config.toml` is not a regular file\n",
        ),
    ] {
        let dir = package("pipe", "");
        fs::create_dir(dir.join(".cargo")).expect("a directory");
        let _ = fs::remove_file(dir.join(pipe));
        let made = Command::new("mkfifo").arg(dir.join(pipe)).status();
        assert!(made.expect("mkfifo").success());
        let mut limited = Command::new("timeout");
        let init = command(&dir, &[]);
        limited
            .arg("20")
            .arg(init.get_program())
            .args(init.get_args());
        let variables = init
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        let cargo = std::path::Path::new(env!("CARGO")).parent();
        let path = std::env::var("PATH").expect("a PATH");
        let path = format!("{}:{path}", cargo.expect("a directory").display());
        limited.env_clear().envs(variables).env("PATH", path);
        let output = limited.output().expect("timeout runs");
        must_exit(&output, code);
        assert!(
            complaint(&output).contains(message),
            "{}",
            complaint(&output)
        );
    }
}

/// Nothing calls itself for each of the parentheses.
#[test]
fn deeply_nested_code_is_changed() {
    let dir = package("nested", "");
    let (open, close) = ("(".repeat(100_000), ")".repeat(100_000));
    let main = format!("fn main() {{\n    let _ = {open}1{close};\n}}\n");
    for path in ["build.rs", "src/main.rs"] {
        file(&dir, path, &main);
    }
    must_exit(&init(&dir, &["--write"]), 0);
    for path in ["build.rs", "src/main.rs"] {
        assert!(read(&dir, path).len() > main.len() + 30, "{path}");
    }
}
