//! The lifetime of processes: the child, and programs that are started in unusual ways.

use super::{V9_1, V9_10, V9_14, copied, cudnn, guarded, start, windows};
use crate::support::{
    Ran, cargo, consumers, fresh, program, project, repository, run, scratch, target, write_if_new,
};
use crate::windows::wine::windows::{WINDOWS, Windows, built, path};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const BUILD: &str = include_str!("programs/build.rs");
const MAIN: &str = include_str!("programs/main.rs");

/// Builds the program with a guard, or the program without a console.
fn own(name: &str) -> PathBuf {
    let dir = project("wine-programs", BUILD, MAIN);
    fs::create_dir_all(dir.join("src/bin")).unwrap();
    write_if_new(&dir.join("src/bin/gui.rs"), include_str!("programs/gui.rs"));
    built(&dir, &[], name)
}

/// Compiles a program in C.
fn in_c(name: &str) -> PathBuf {
    let program_file = scratch("wine-sources").join(format!("{name}.exe"));
    let source = repository().join(format!(
        "tests/programs/windows/wine_guard/programs/{name}.c"
    ));
    let mut compiler = program("x86_64-w64-mingw32-gcc");
    compiler
        .args(["-std=gnu99", "-Wall", "-Werror", "-o"])
        .arg(&program_file);
    run(compiler.arg(source)).exits_with(0);
    program_file
}

/// Runs a program with the simulated 9.14.
fn sound(windows: &Windows, program: &Path, arguments: &[&str], env: &[(&str, &str)]) -> Ran {
    start(windows, program, &[&cudnn(V9_14)], arguments, env)
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_child_dies_with_its_parent() {
    let windows = &*windows();
    let env = [("SIM_FAULT", "hang:cudnnCreate")];
    let parent = path(&own("wine-programs"));
    let arguments = ["orphan", &parent, "startup"];
    let ran = sound(windows, &in_c("starter"), &arguments, &env).exits_with(0);
    let milliseconds: u32 = ran.stdout.trim().parse().unwrap();
    assert!(milliseconds < 1000, "{milliseconds}");
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_program_without_standard_streams_still_has_a_child() {
    let windows = &*windows();
    let starter = in_c("starter");
    let folder = fresh("wine-closed");
    for name in ["wine-programs", "gui"] {
        let (wrote, report) = (folder.join(name), folder.join(format!("{name}.json")));
        let program = path(&own(name));
        let wrote_there = path(&wrote);
        let mut arguments = vec!["closed", &program, "startup", &wrote_there];
        if name == "gui" {
            arguments.remove(2);
        }
        let report_there = path(&report);
        let env = [("CUDNN_GUARD_REPORT", &report_there[..])];
        sound(windows, &starter, &arguments, &env).exits_with(0);
        assert_eq!(fs::read_to_string(&wrote).unwrap(), "went on", "{name}");
        let json = fs::read_to_string(&report).unwrap();
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["verdict"], "pass", "{json:#}");
        assert!(!json["convolution"].as_array().unwrap().is_empty());
        // A fault stops the program even though nothing reads its output.
        fs::remove_file(&wrote).unwrap();
        let env = [("SIM_FAULT", "segv:cudnnCreate")];
        sound(windows, &starter, &arguments, &env).exits_with(78);
        assert!(!wrote.exists(), "{name}");
    }
}

/// cuDNN opens a library by name, from a directory that the program has added.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_child_searches_the_directories_that_the_program_added() {
    let windows = &*windows();
    let folder = fresh("wine-added");
    let library = folder.join("cublasLt64_99.dll");
    windows.compile("added", "int nothing;\n", &library, &["-shared"]);
    let wrote = path(&folder.join("went on"));
    let cudnn = format!("add={}", path(&cudnn(V9_14)));
    let other = format!("add={}", path(&folder));
    let env = [("SIM_FAULT", "opens:cublasLt64_99.dll")];
    let program = own("wine-programs");
    let ran = start(windows, &program, &[], &[&cudnn, "startup", &wrote], &env);
    ran.exits_with(78)
        .says("Could not load library cublasLt64_99.dll");
    let arguments = [&cudnn[..], &other, "startup", &wrote];
    let ran = start(windows, &program, &[], &arguments, &env).exits_with(0);
    assert_eq!(ran.stderr, "");
}

/// With a variable that the guard has not set, the program runs normally and keeps its standard input.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_variable_not_set_by_the_guard_changes_nothing() {
    let windows = &*windows();
    let program = own("wine-programs");
    for value in [
        "",
        "x",
        "-",
        "1-2",
        "1000-0123456789abcdef",
        "ffffffffffffffff-",
    ] {
        let mut command = windows.command(&program);
        let mut started = command
            .args(["startup", "read"])
            .env("WINEPATH", path(&cudnn(V9_14)))
            .env("CUDNN_GUARD_CHILD", value)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = started.stdin.take().unwrap();
        stdin.write_all(b"end 2\n").unwrap();
        drop(stdin);
        let output = started.wait_with_output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            (output.status.code(), &*stdout),
            (Some(0), "read \"end 2\\n\"\n")
        );
    }
}

/// The parent exited before it could send the task. `main` must not run twice.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_child_without_a_task_does_not_reach_main() {
    let windows = &*windows();
    let (windows, program) = (windows, own("wine-programs"));
    let value = sound(windows, &program, &["value"], &[])
        .exits_with(0)
        .stdout;
    let as_child = [("CUDNN_GUARD_CHILD", &value[..])];
    let ran = sound(windows, &program, &["value"], &as_child).exits_with(0);
    assert_eq!((&*ran.stdout, value.ends_with("-token")), ("", true));
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn checks_leave_nothing_behind() {
    let windows = &*windows();
    let ran = sound(windows, &own("wine-programs"), &["left"], &[]);
    assert_eq!(ran.exits_with(0).stdout, "0 handles, 0 processes\n");
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_thread_with_a_small_stack_can_check() {
    let windows = &*windows();
    let acts = ["small-stack", "startup", "went-on"];
    let ran = guarded(windows, &[&cudnn(V9_14)], &acts, &[]).exits_with(0);
    assert_eq!(ran.text(), "went on\n");
    guarded(windows, &[&cudnn(V9_1)], &acts, &[])
        .exits_with(78)
        .says("[cudnn-version-mismatch]");
}

/// Threads check one after the other, and none waits for another thread's child beyond its own deadline.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn several_threads_check_at_once() {
    let windows = &*windows();
    let ran = guarded(windows, &[&cudnn(V9_14)], &["four-checks"], &[]).exits_with(0);
    let passed = ran.stdout.lines().map(|line| {
        let json: Value = serde_json::from_str(line).unwrap();
        json["verdict"] == "pass" && json["findings"] == Value::Array(Vec::new())
    });
    assert_eq!(passed.collect::<Vec<_>>(), [true; 4], "{}", ran.text());
}

/// A guard in a DLL checks what the process has loaded. It starts no child, because the DLL does not control the
/// program.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_guard_in_a_dll_starts_no_process() {
    let windows = &*windows();
    let build = ["build", "-p", "extension", "--target", WINDOWS];
    run(&mut cargo(consumers(), &build)).exits_with(0);
    let guard = path(&target().join(WINDOWS).join("debug/extension.dll"));
    let host = in_c("host");
    let starts = fresh("wine-host").join("starts");
    let ask = |folder: &Path, others: &[&str]| {
        let _ = fs::remove_file(&starts);
        let arguments = [&[&guard[..]], others].concat();
        let env = [("HOST_STARTS", &path(&starts)[..])];
        let ran = start(windows, &host, &[folder], &arguments, &env).exits_with(0);
        assert_eq!(fs::read_to_string(&starts).unwrap(), "x");
        let (json, modules) = ran.stdout.split_once('\n').unwrap();
        let json: Value = serde_json::from_str(json).unwrap();
        (json, modules.trim().to_string())
    };
    let (json, modules) = ask(&cudnn(V9_14), &[]);
    assert_eq!(
        (&json["verdict"], &json["findings"][0]["id"]),
        (&"unknown".into(), &"not-loaded-yet".into())
    );
    assert_eq!(modules, "");
    // The loaded cuDNN is checked, whatever PATH contains.
    let theirs = path(&cudnn(V9_10).join("cudnn64_9.dll"));
    let (json, modules) = ask(&cudnn(V9_14), &[&theirs]);
    assert_eq!(
        (&json["verdict"], &json["findings"][0]["id"]),
        (&"unknown".into(), &"child-not-started".into())
    );
    assert_eq!(json["loaded"]["version"], "9.10.2");
    assert_eq!(modules, "cudnn64_9.dll");
    let mixed = copied("host", V9_14);
    fs::copy(
        cudnn(V9_10).join("cudnn_ops64_9.dll"),
        mixed.join("cudnn_ops64_9.dll"),
    )
    .unwrap();
    let (json, modules) = ask(&mixed, &[&path(&mixed.join("cudnn64_9.dll"))]);
    assert_eq!(
        (&json["verdict"], &json["findings"][0]["id"]),
        (&"fail".into(), &"parts-mixed".into())
    );
    assert_eq!(modules, "cudnn64_9.dll");
}
