//! `fetch --check`: what it finds, and that what it says mends it.

use super::{command, fetch, installed, listing};
use crate::terminal::{cudnn_guard, folder, must_exit, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with what was fetched into its `to`.
fn fetched(name: &str) -> PathBuf {
    let dir = folder(name);
    must_exit(&fetch(&dir, &[]), 0);
    dir
}

/// Runs it, and sees to it that it changes nothing.
fn check(dir: &Path) -> Output {
    let state = || {
        let paths = listing(&dir.join("to"));
        let times = paths.iter().map(|path| {
            let found = fs::symlink_metadata(path).expect("what is there");
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
fn unchanged_files_pass() {
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

/// A file with other contents of the same size is one that `fetch` takes for whole: it is to be removed first.
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
             damaged     {library} has other contents\n"
        )
    );

    fs::remove_file(dir.join("to").join(library)).expect("the file removed");
    must_mend(&dir, &help, "cuDNN");
}

#[test]
fn a_missing_file_is_named_and_the_help_fixes_it() {
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
    must_mend(&dir, &help, "CUDA toolkit");
}

/// Who names no release keeps the one that is there.
#[test]
fn damaged_components_are_fetched_in_their_own_version() {
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

/// For a machine without a network it is copied there.
#[test]
fn fetched_files_are_complete_in_another_directory_too() {
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

/// Where one of the two was never fetched, or nothing.
#[test]
fn components_that_were_not_fetched_are_not_damaged() {
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
    must_mend(&dir, &help, "CUDA toolkit");

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

/// Runs the help as a shell would, which fetches this one alone, past the installer's cache if it was damaged.
#[track_caller]
fn must_mend(dir: &Path, help: &str, title: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    let bin = program.parent().expect("its folder").display();
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

/// uv's files are hard links into its cache, so that what damaged the one has damaged the other.
#[test]
fn damaged_files_are_not_taken_from_the_cache() {
    let dir = fetched("check-cache");
    let library = "to/nvidia/cudnn/lib/libnvidia_cudnn_cu13.so.1";
    fs::write(dir.join(library), "cut off").expect("a damaged file");
    must_exit(&fetch(&dir, &[]), 0);
    let log = fs::read_to_string(dir.join("bin/uv.log")).expect("the calls");
    let past_the_cache: Vec<bool> = log
        .lines()
        .map(|call| call.contains(" --no-cache "))
        .collect();
    assert_eq!(past_the_cache, [false, false, true], "{log}");
}
