//! The terminal program, run as a person runs it.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod demo;
pub mod doctor;
pub mod explain;
pub mod fetch;
pub mod init;
pub mod pkg_config;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod run;
pub mod targets;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("terminal")
        .join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder");
    path
}

fn file(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("its folder");
    fs::write(path, text).expect("a file");
}

/// Runs with nothing of this machine's environment.
fn cudnn_guard(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .args(arguments)
        .env_clear()
        .env("HOME", "/nowhere")
        .output()
        .expect("cudnn-guard runs")
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[track_caller]
fn must_exit(output: &Output, code: i32) {
    assert_eq!(
        output.status.code(),
        Some(code),
        "{}{}",
        text(output),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn ids(json: &Value) -> Vec<&str> {
    json["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|finding| finding["severity"] == "error")
        .filter_map(|finding| finding["id"].as_str())
        .collect()
}

#[test]
fn a_command_line_that_is_wrong_exits_with_2() {
    for arguments in [
        &[][..],
        &["nonsense"],
        &["doctor", "--nonsense"],
        &["doctor", "--cuda", "new"],
        &["doctor", "--cudnn", "9;1"],
        &["doctor", "--root", "/nowhere/at/all"],
        &["fetch", "--cuda", "thirteen"],
        &["fetch", "--cudnn", "9.1.2.3"],
        &["fetch", "--check", "--cudnn", "9.1"],
        &["demo", "more"],
    ] {
        must_exit(&cudnn_guard(arguments), 2);
    }
}
