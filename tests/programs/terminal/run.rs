//! Tests of `cudnn-guard run`.

use super::{folder, must_exit, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Compiles a program that prints its arguments and exits with 7, and returns it with the directory of its library.
fn linked(name: &str) -> (PathBuf, PathBuf) {
    let dir = folder(name);
    let (program, library) = (dir.join("app"), dir.join("lib/libown.so.1"));
    let compile = |code: &str, into: &Path, flags: &[&str]| {
        let source = dir.join("code.c");
        fs::create_dir_all(into.parent().unwrap()).unwrap();
        fs::write(&source, code).unwrap();
        let mut cc = Command::new("cc");
        cc.arg(&source).arg("-o").arg(into).args(flags);
        assert!(cc.status().unwrap().success(), "{cc:?}");
    };
    let shared = ["-shared", "-fPIC", "-Wl,-soname,libown.so.1"];
    compile("int own(void) { return 1; }", &library, &shared);
    let main = "#include <stdio.h>
        int own(void);
        int main(int count, char **words) {
            for (int i = 1; i < count; i++) puts(words[i]);
            return own() + 6;
        }";
    compile(main, &program, &[library.to_str().unwrap()]);
    (program, dir.join("lib"))
}

fn run(program: &Path, words: &[&str], variables: &[(&str, &Path)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .arg("run")
        .arg(program)
        .args(words)
        .env_clear()
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// The loader would stop such a program before `main`, with its own message.
#[test]
fn a_program_that_the_loader_would_stop_is_not_started() {
    let (program, lib) = linked("run");
    let moved = lib.with_file_name("elsewhere");
    fs::rename(&lib, &moved).unwrap();
    let refused = run(&program, &["a"], &[]);
    must_exit(&refused, 78);
    assert_eq!(text(&refused), "");
    let stderr = String::from_utf8(refused.stderr).unwrap();
    let shown = program.display();
    let headline = "needs libown.so.1, which the loader cannot find  [library-not-found]";
    assert!(
        stderr.starts_with(&format!("`{shown}` {headline}\n")),
        "{stderr}"
    );
    assert!(
        stderr.contains("\n  see         cudnn-guard explain library-not-found\n"),
        "{stderr}"
    );
    assert!(
        stderr.ends_with(&format!(
            "`{shown}` was not started; set CUDNN_GUARD=warn to start it anyway\n"
        )),
        "{stderr}"
    );
    // The exit code of the loader.
    must_exit(
        &run(&program, &["a"], &[("CUDNN_GUARD", Path::new("warn"))]),
        127,
    );
    let there = run(&program, &["a", "--json"], &[("LD_LIBRARY_PATH", &moved)]);
    must_exit(&there, 7);
    assert_eq!(text(&there), "a\n--json\n");
    assert_eq!(String::from_utf8(there.stderr).unwrap(), "");
}

/// A file that the loader does not load, such as a script, is started as it is.
#[test]
fn a_script_is_started_and_a_missing_program_is_reported() {
    let script = folder("run-script").join("script");
    fs::write(&script, "#!/bin/sh\nexit 5\n").unwrap();
    let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    fs::set_permissions(&script, mode).unwrap();
    must_exit(&run(&script, &[], &[]), 5);
    let absent = run(Path::new("no-such-program"), &[], &[]);
    must_exit(&absent, 127);
    assert_eq!(
        String::from_utf8(absent.stderr).unwrap(),
        "cudnn-guard: no such program: \"no-such-program\"\n"
    );
}

/// ONNX Runtime would compute on the CPU and only log it. The finding is printed, but the program is started.
#[test]
fn a_program_whose_provider_does_not_load_is_started() {
    let (program, lib) = linked("run-provider");
    let dir = lib.with_file_name("toolkit");
    let compile = |code: &str, into: &Path, flags: &[&str]| {
        let source = lib.join("code.c");
        fs::write(&source, code).unwrap();
        fs::create_dir_all(into.parent().unwrap()).unwrap();
        let mut cc = Command::new("cc");
        cc.arg(&source).args(["-shared", "-fPIC", "-o"]).arg(into);
        assert!(cc.args(flags).status().unwrap().success());
    };
    let cublas = lib.join("libcublasLt.so.12");
    compile("int x;", &cublas, &["-Wl,-soname,libcublasLt.so.12"]);
    let needs = ["-Wl,--no-as-needed", cublas.to_str().unwrap()];
    let provider = lib.join("libonnxruntime_providers_cuda.so");
    compile("int y;", &provider, &needs);
    let shared = lib.join("libonnxruntime_providers_shared.so");
    compile("int z;", &shared, &[]);
    fs::remove_file(&cublas).unwrap();
    let onnxruntime = lib.join("libonnxruntime.so.1");
    compile("int r;", &onnxruntime, &["-Wl,-soname,libonnxruntime.so.1"]);
    let needs = ["-Wl,--no-as-needed", onnxruntime.to_str().unwrap()];
    let own = ["-Wl,-soname,libown.so.1"];
    compile(
        "int own(void) { return 1; }",
        &lib.join("libown.so.1"),
        &[&own[..], &needs].concat(),
    );
    fs::create_dir_all(dir.join("include")).unwrap();
    fs::write(dir.join("include/cuda.h"), "#define CUDA_VERSION 13000\n").unwrap();
    compile("int c;", &dir.join("lib64/libcudart.so.13"), &[]);

    let variables: [(&str, &Path); 2] = [("LD_LIBRARY_PATH", &lib), ("CUDA_HOME", &dir)];
    let started = run(&program, &["a"], &variables);
    must_exit(&started, 7);
    assert_eq!(text(&started), "a\n");
    let stderr = String::from_utf8(started.stderr).unwrap();
    let wanted = format!(
        "`{}` was built for CUDA 12, but the toolkit is CUDA 13  [cuda-flavour-mismatch]\n",
        provider.display()
    );
    assert!(stderr.starts_with(&wanted), "{stderr}");
}

/// systemd starts its services with an ignored SIGPIPE. A program that relies on this ends at the first closed connection
/// otherwise.
#[cfg(target_os = "linux")]
#[test]
fn a_program_inherits_the_signals_of_the_caller() {
    let dir = folder("run-signals");
    let (source, program) = (dir.join("code.c"), dir.join("app"));
    let code = "#define _GNU_SOURCE
        #include <signal.h>
        #include <stdio.h>
        int main(void) {
            sigset_t blocked;
            struct sigaction action;
            sigprocmask(SIG_BLOCK, 0, &blocked);
            for (int i = 1; i < NSIG; i++) {
                if (!sigaction(i, 0, &action) && action.sa_handler == SIG_IGN) printf(\"-%d \", i);
                if (sigismember(&blocked, i) == 1) printf(\"+%d \", i);
            }
        }";
    fs::write(&source, code).unwrap();
    let mut cc = Command::new("cc");
    let made = cc.arg(&source).arg("-o").arg(&program).status();
    assert!(made.unwrap().success(), "{cc:?}");
    let own = env!("CARGO_BIN_EXE_cudnn-guard");
    let inherited = |script: &str, guard: &[&str]| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{script} exec \"$@\""), "sh"]);
        let output = shell.args(guard).arg(&program).output().unwrap();
        must_exit(&output, 0);
        text(&output)
    };
    // The tests themselves may have inherited ignored signals. Rust resets SIGPIPE.
    for (script, ignored) in [
        ("", &[][..]),
        ("trap '' PIPE;", &["-13"]),
        (
            "trap '' INT TERM HUP PIPE USR1;",
            &["-1", "-2", "-10", "-13", "-15"],
        ),
    ] {
        let without = inherited(script, &[]);
        let mut signals = without.split(' ');
        assert_eq!(signals.any(|signal| signal == "-13"), !script.is_empty());
        for signal in ignored {
            assert!(
                without.split(' ').any(|one| one == *signal),
                "{script}: {without}"
            );
        }
        assert_eq!(inherited(script, &[own, "run"]), without, "{script}");
    }
}
