//! Tests of `fetch --check`: its finding, and that its help fixes it.

use super::{command, fetch, listing};
use crate::terminal::{complaint, cudnn_guard, folder, must_exit, text};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn an_unchanged_installation_passes_also_after_it_was_moved() {
    let (dir, other) = (folder("check-passes"), folder("check-there"));
    must_exit(&fetch(&dir, &[]), 0);
    // A machine without a network can get a copy.
    fs::rename(dir.join("to"), other.join("to")).expect("moved");
    let output = fetch(&other, &["--check"]);
    must_exit(&output, 0);
    let home = other.join("to").display().to_string();
    let expected = format!("  ✓ checked      30 files of 8 wheels in {home}\n");
    assert_eq!(text(&output), expected);
    for library in [
        "cudnn/lib64/libnvidia_cudnn_cu13.so",
        "cublas/lib/libnvidia_cublas.so",
    ] {
        assert!(other.join("to/nvidia").join(library).is_file(), "{library}");
    }
}

#[test]
fn missing_and_changed_files_are_named_and_the_help_fixes_them() {
    let dir = folder("check missing");
    let to = dir.join("to");
    let home = to.display().to_string();
    must_exit(&fetch(&dir, &["--cuda", "13.0"]), 0);
    fs::remove_dir_all(to.join("nvidia_nvvm-13.0.88.dist-info")).expect("a wheel's removed");
    fs::remove_file(to.join("nvidia/cu13/lib/libnvidia_cublas.so.1")).expect("one removed");
    fs::write(to.join("nvidia/cudnn/lib/libnvidia_cudnn_cu13.so.1"), "22").expect("a file");
    let before = listing(&to);
    let output = fetch(&dir, &["--check"]);
    assert_eq!(listing(&to), before);
    must_exit(&output, 1);
    let checked = format!("  ✗ checked      30 files of 8 wheels in {home}\n");
    assert_eq!(text(&output), checked);
    let help = format!("cudnn-guard fetch --to '{home}'");
    assert_eq!(
        complaint(&output),
        format!(
            "\nthe files in `{home}` differ from what was fetched  [fetch-failed]\n  \
             = help: run `{help}` to fetch them again\n  \
             = help: add `--lock FILE` if a lock file named their versions\n  \
             damaged     nvidia/cu13/lib/libnvidia_cublas.so.1 is missing\n              \
             nvidia_nvvm-13.0.88.dist-info/RECORD is missing\n              \
             nvidia/cudnn/lib/libnvidia_cudnn_cu13.so.1 has 2 bytes instead of 1\n"
        )
    );
    let program = Path::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    let bin = program.parent().expect("its directory").display();
    let output = Command::new("/bin/sh")
        .args(["-c", &help])
        .env_clear()
        .env("PATH", format!("{}:{bin}", dir.join("bin").display()))
        .output()
        .expect("a shell runs");
    must_exit(&output, 0);
    must_exit(&command(&dir, &["--check"]).output().expect("it runs"), 0);
    assert!(to.join("nvidia_nvvm-13.0.88.dist-info").is_dir());
    // Links are in no RECORD.
    fs::remove_file(to.join("nvidia/cudnn/lib64")).expect("removed");
    must_exit(&fetch(&dir, &["--check"]), 1);
}

#[test]
fn a_directory_without_fetched_files_is_reported() {
    let empty = folder("check-nothing");
    let home = empty.to_str().expect("text");
    let output = cudnn_guard(&["fetch", "--check", "--to", home]);
    must_exit(&output, 1);
    assert_eq!(
        complaint(&output),
        format!(
            "\ncudnn-guard has installed nothing in `{home}`  [fetch-failed]\n  \
             = help: run `cudnn-guard fetch --to {home}`\n  \
             = help: pass the directory that you fetched into with `--to DIR`\n"
        )
    );
    assert_eq!(listing(&empty), Vec::<String>::new());
}
