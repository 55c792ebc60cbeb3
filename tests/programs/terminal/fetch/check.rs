//! Tests of `fetch --check`: its findings, and that its help fixes them.

use super::{command, fetch, installed, listing};
use crate::terminal::{cudnn_guard, folder, must_exit, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Creates a directory with a completed `fetch` in its `to`.
fn fetched(name: &str) -> PathBuf {
    let dir = folder(name);
    must_exit(&fetch(&dir, &[]), 0);
    dir
}

/// Runs `fetch --check` and asserts that it changes nothing.
fn check(dir: &Path) -> Output {
    let state = || {
        let paths = listing(&dir.join("to"));
        let times = paths.iter().map(|path| {
            let found = fs::symlink_metadata(path).expect("the file");
            found.modified().expect("a time")
        });
        (times.collect::<Vec<_>>(), paths.clone())
    };
    let before = state();
    let output = fetch(dir, &["--check"]);
    assert_eq!(state(), before);
    output
}

#[test]
fn an_unchanged_installation_passes() {
    let dir = fetched("check-passes");
    let output = check(&dir);
    must_exit(&output, 0);
    let home = dir.join("to").display().to_string();
    assert_eq!(
        text(&output),
        format!(
            "  ✓ CUDA toolkit 13.5.37, 14 files checked: {home}/nvidia/cu13\n  \
             ✓ cuDNN        9.28.1.4, 2 files checked: {home}/nvidia/cudnn\n"
        )
    );
}

/// `fetch` considers a file with other contents of the same size complete, so the file has to be removed first.
#[test]
fn a_file_with_other_contents_is_found_and_the_help_fixes_it() {
    let dir = fetched("check changed");
    let home = dir.join("to").display().to_string();
    let library = "nvidia/cudnn/lib/libnvidia_cudnn_cu13.so.1";
    fs::write(dir.join("to").join(library), "2").expect("another file");
    assert!(text(&fetch(&dir, &[])).contains("  ✓ cuDNN        9.28.1.4 is installed: "));

    let output = check(&dir);
    must_exit(&output, 1);
    let help = format!("cudnn-guard fetch --cuda 13.5 --cudnn 9.28.1 --to '{home}'");
    assert_eq!(
        text(&output),
        format!(
            "  ✓ CUDA toolkit 13.5.37, 14 files checked: {home}/nvidia/cu13\n  \
             ✗ cuDNN        9.28.1.4, 2 files checked: {home}/nvidia/cudnn\n\n\
             the cuDNN in `{home}/nvidia/cudnn` differs from what was fetched  [fetch-failed]\n  \
             = help: remove `'{home}/{library}'`, then run `{help}` to fetch all of it again\n  \
             damaged     {library} has different contents\n"
        )
    );

    fs::remove_file(dir.join("to").join(library)).expect("the file removed");
    must_fix(&dir, &help, "cuDNN");
}

#[test]
fn missing_files_are_named_and_the_help_fixes_it() {
    let dir = fetched("check missing");
    let to = dir.join("to");
    let home = to.display().to_string();
    fs::remove_dir_all(to.join("nvidia/cu13/lib")).expect("libraries removed");
    fs::remove_dir_all(to.join("nvidia_nvvm-13.5.37.dist-info")).expect("a wheel's removed");
    fs::remove_file(to.join("nvidia_cublas-13.5.37.dist-info/RECORD")).expect("one removed");
    let output = check(&dir);
    must_exit(&output, 1);
    let help = format!("cudnn-guard fetch --cuda 13.5 --cudnn 9.28.1 --to '{home}'");
    assert_eq!(
        text(&output),
        format!(
            "  ✗ CUDA toolkit 13.5.37, 10 files checked: {home}/nvidia/cu13\n  \
             ✓ cuDNN        9.28.1.4, 2 files checked: {home}/nvidia/cudnn\n\n\
             the CUDA toolkit in `{home}/nvidia/cu13` differs from what was fetched  [fetch-failed]\n  \
             = help: run `{help}` to fetch all of it again\n  \
             damaged     nvidia/cu13/lib/libnvidia_cuda_nvcc.so.1 is missing\n              \
             nvidia/cu13/lib/libnvidia_cuda_runtime.so.1 is missing\n              \
             nvidia/cu13/lib/libnvidia_cuda_crt.so.1 is missing\n              \
             nvidia-nvvm is missing\n              \
             nvidia/cu13/lib/libnvidia_cuda_cccl.so.1 is missing\n              \
             and 2 more\n"
        )
    );
    must_fix(&dir, &help, "CUDA toolkit");
}

/// Without a version on the command line, the installed version is kept.
#[test]
fn a_damaged_component_is_fetched_again_in_its_version() {
    let dir = folder("check-12");
    must_exit(&fetch(&dir, &["--cuda", "12.4"]), 0);
    let library = "nvidia/cuda_runtime/lib/libnvidia_cuda_runtime_cu12.so.1";
    let library = dir.join("to").join(library);
    fs::remove_file(&library).expect("a file removed");
    let output = fetch(&dir, &[]);
    must_exit(&output, 0);
    let shown = text(&output);
    assert!(shown.contains("  ✓ CUDA toolkit 12.4.127 in "), "{shown}");
    assert!(library.is_file());
}

/// A machine without a network can get a copy.
#[test]
fn a_moved_installation_is_complete() {
    let (dir, other) = (fetched("check-here"), folder("check-there"));
    fs::rename(dir.join("to"), other.join("to")).expect("moved");
    must_exit(&check(&other), 0);
    for library in [
        "cudnn/lib64/libnvidia_cudnn_cu13.so",
        "cublas/lib/libnvidia_cublas.so",
    ] {
        assert!(other.join("to/nvidia").join(library).is_file(), "{library}");
    }
}

/// Only one of the two components was fetched, or neither.
#[test]
fn a_component_that_was_never_fetched_is_not_damaged() {
    let dir = fetched("check-one");
    let to = dir.join("to");
    let home = to.display().to_string();
    fs::remove_dir_all(to.join("nvidia/cu13")).expect("the toolkit removed");
    for wheel in installed(&to).lines().last().expect("wheels").split(' ') {
        if !wheel.contains("cudnn") {
            fs::remove_dir_all(to.join(wheel)).expect("a wheel's record removed");
        }
    }
    let output = check(&dir);
    must_exit(&output, 1);
    let help = format!("cudnn-guard fetch --cuda 13 --cudnn 9.28.1 --to {home}");
    assert_eq!(
        text(&output),
        format!(
            "  ✓ cuDNN        9.28.1.4, 2 files checked: {home}/nvidia/cudnn\n\n\
             cudnn-guard has installed no CUDA toolkit in `{home}`  [fetch-failed]\n  \
             = help: run `{help}`\n  \
             = help: pass the directory that you fetched into with `--to DIR`\n"
        )
    );
    must_fix(&dir, &help, "CUDA toolkit");

    let empty = folder("check-nothing");
    let home = empty.to_str().expect("text");
    let output = cudnn_guard(&["fetch", "--check", "--to", home]);
    must_exit(&output, 1);
    assert_eq!(
        text(&output),
        format!(
            "\ncudnn-guard has installed no CUDA toolkit and no cuDNN in `{home}`  [fetch-failed]\n  \
             = help: run `cudnn-guard fetch --to {home}`\n  \
             = help: pass the directory that you fetched into with `--to DIR`\n"
        )
    );
    assert_eq!(listing(&empty), Vec::<String>::new());
}

/// Runs the help in a shell. It must fetch only this component.
#[track_caller]
fn must_fix(dir: &Path, help: &str, title: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    let bin = program.parent().expect("its directory").display();
    let output = Command::new("/bin/sh")
        .args(["-c", help])
        .env_clear()
        .env("PATH", format!("{}:{bin}", dir.join("bin").display()))
        .output()
        .expect("a shell runs");
    must_exit(&output, 0);
    let shown = text(&output);
    assert_eq!(shown.matches("  fetching ").count(), 1, "{shown}");
    assert!(shown.contains(&format!("  fetching {title}\n")), "{shown}");
    must_exit(&command(dir, &["--check"]).output().expect("it runs"), 0);
}

/// uv hard-links files to its cache, so damage to an installed file also affects the cache.
#[test]
fn damaged_files_are_not_copied_from_the_cache() {
    let dir = fetched("check-cache");
    let library = "to/nvidia/cudnn/lib/libnvidia_cudnn_cu13.so.1";
    fs::write(dir.join(library), "damaged").expect("a damaged file");
    must_exit(&fetch(&dir, &[]), 0);
    let log = fs::read_to_string(dir.join("bin/uv.log")).expect("the calls");
    let past_the_cache: Vec<bool> = log
        .lines()
        .map(|call| call.contains(" --no-cache "))
        .collect();
    assert_eq!(past_the_cache, [false, false, true], "{log}");
}
