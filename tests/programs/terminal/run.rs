//! Tests of `cudnn-guard run`.

use super::inspect::image::{Image, built_for_12, toolkit};
use super::{complaint, folder, must_exit, text};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const OWN: &str = "int own(void) { return 1; }";

/// Compiles a program that prints its arguments and exits with 7, and its library.
fn linked(name: &str) -> Image {
    let image = Image::new(name);
    image.library("lib/libown.so.1", OWN, &[]);
    let main = "#include <stdio.h>
        int own(void);
        int main(int count, char **words) {
            for (int i = 1; i < count; i++) puts(words[i]);
            return own() + 6;
        }";
    compile(&image, main, &["lib/libown.so.1"]);
    image
}

/// Compiles a program with the C library.
fn compile(image: &Image, code: &str, files: &[&str]) {
    fs::create_dir_all(image.at("app")).unwrap();
    fs::write(image.at("code.c"), code).unwrap();
    let mut cc = Command::new("cc");
    cc.current_dir(&image.0).args(["code.c", "-o", "app/app"]);
    assert!(cc.args(files).status().unwrap().success(), "{cc:?}");
}

fn run(program: &Path, words: &[&str], variables: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    command.arg("run").arg(program).args(words).env_clear();
    command.envs(variables.iter().copied()).output().unwrap()
}

/// The loader would stop such a program before `main`, with its own message.
#[test]
fn a_program_that_the_loader_would_stop_is_not_started() {
    let image = linked("run");
    let (program, moved) = (image.at("app/app"), image.at("elsewhere"));
    fs::rename(image.at("lib"), &moved).unwrap();
    let refused = run(&program, &["a"], &[]);
    must_exit(&refused, 78);
    assert_eq!(text(&refused), "");
    let stderr = complaint(&refused);
    let shown = program.display();
    let start = format!(
        "error: `{shown}` needs libown.so.1, which the loader cannot find  [library-not-found]\n"
    );
    let end = format!("`{shown}` was not started; set CUDNN_GUARD=warn to start it anyway\n");
    let is_whole = stderr.starts_with(&start) && stderr.ends_with(&end);
    assert!(is_whole, "{stderr}");
    let page = "\n  see         cudnn-guard explain library-not-found\n";
    assert!(stderr.contains(page), "{stderr}");
    // The exit code of the loader.
    let warn = ("CUDNN_GUARD", Path::new("warn"));
    must_exit(&run(&program, &["a"], &[warn]), 127);
    let there = run(&program, &["a", "--json"], &[("LD_LIBRARY_PATH", &moved)]);
    must_exit(&there, 7);
    assert_eq!(text(&there), "a\n--json\n");
    assert_eq!(complaint(&there), "");
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
    let message = "cudnn-guard: no such program: \"no-such-program\"\n";
    assert_eq!(complaint(&absent), message);
}

/// ONNX Runtime would compute on the CPU and only log it. The finding is printed, but the program is started.
#[test]
fn a_program_whose_provider_does_not_load_is_started() {
    let image = linked("run-provider");
    let provider = "lib/libonnxruntime_providers_cuda.so";
    built_for_12(&image, provider);
    let shared = "lib/libonnxruntime_providers_shared.so";
    for library in [shared, "lib/libonnxruntime.so.1"] {
        image.library(library, "int nothing;", &[]);
    }
    let needed = "IMAGE/lib/libonnxruntime.so.1";
    image.library("lib/libown.so.1", OWN, &["-Wl,--no-as-needed", needed]);
    toolkit(&image, "toolkit", 13000);
    let (lib, home) = (image.at("lib"), image.at("toolkit"));
    let variables: [(&str, &Path); 2] = [("LD_LIBRARY_PATH", &lib), ("CUDA_HOME", &home)];
    let started = run(&image.at("app/app"), &["a"], &variables);
    must_exit(&started, 7);
    assert_eq!(text(&started), "a\n");
    let wanted = format!(
        "warning: `{}` was built for CUDA 12, but the toolkit is CUDA 13  [cuda-flavour-mismatch]\n",
        image.at(provider).display()
    );
    let stderr = complaint(&started);
    assert!(stderr.starts_with(&wanted), "{stderr}");
    // Without a toolkit for another CUDA, the libraries are only missing.
    let variables = [variables[0], ("CUDA_HOME", Path::new("/nowhere"))];
    let started = run(&image.at("app/app"), &["a"], &variables);
    must_exit(&started, 7);
    let stderr = complaint(&started);
    assert!(
        stderr.contains("needs libcublasLt.so.12, which the loader cannot find"),
        "{stderr}"
    );
    // The program requires a GPU, so it must not compute on the CPU.
    for (required, mode, code) in [
        ("1", "", 78),
        ("strict", "", 78),
        ("1", "warn", 7),
        ("0", "", 7),
    ] {
        let more = [("CUDNN_GUARD_REQUIRE_GPU", required), ("CUDNN_GUARD", mode)];
        let more = more.map(|(name, value)| (name, Path::new(value)));
        let ran = run(&image.at("app/app"), &["a"], &[variables, more].concat());
        must_exit(&ran, code);
    }
    // A provider that loads is no reason.
    image.library(provider, "int nothing;", &[]);
    let more = ("CUDNN_GUARD_REQUIRE_GPU", Path::new("1"));
    let started = run(&image.at("app/app"), &["a"], &[variables[0], more]);
    must_exit(&started, 7);
    assert!(
        !complaint(&started).contains("onnxruntime"),
        "{}",
        complaint(&started)
    );
}

/// systemd starts its services with an ignored SIGPIPE. A program that relies on this ends at the first closed connection
/// otherwise.
#[cfg(target_os = "linux")]
#[test]
fn a_program_inherits_the_signals_of_the_caller() {
    let image = Image::new("run-signals");
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
    compile(&image, code, &[]);
    let program = image.at("app/app");
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
