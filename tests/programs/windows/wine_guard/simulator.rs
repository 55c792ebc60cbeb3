//! The tests of tests/simulator.rs, as a program for Windows.

use super::{V8_9, V9_10, V9_14, V9_28, windows};
use crate::support::simulated::for_windows;
use crate::support::{cargo, fresh, repository, run};
use crate::windows::wine::windows::{WINDOWS, path};
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// Builds the test program.
fn built() -> PathBuf {
    let mut cargo = cargo(repository(), &["test", "--no-run", "--test", "simulator"]);
    let ran = run(cargo.args(["--target", WINDOWS, "--message-format=json"])).exits_with(0);
    let messages = ran.stdout.lines();
    let mut messages = messages.map(|line| serde_json::from_str(line).unwrap());
    // The messages also describe the `cudnn-guard` command, which is built too.
    let of_it = |message: serde_json::Value| {
        let is_it = message["target"]["name"] == "simulator";
        Some(message["executable"].as_str().filter(|_| is_it)?.into())
    };
    messages.find_map(of_it).expect("the program was built")
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn every_fault_refusal_and_wrong_number_is_found() {
    let program = built();
    let windows = windows();
    let simulated = fresh("wine-simulated");
    for release in [V8_9, V9_10, V9_14, V9_28] {
        let (major, minor, patch) = release;
        let name = simulated.join(format!("{major}.{minor}.{patch}"));
        symlink(for_windows(release), name).unwrap();
    }
    let env = [("SIMULATED", &path(&simulated)[..])];
    let ran = windows
        .as_ref()
        .unwrap()
        .start(program, &["--test-threads=4"], &env);
    let ran = ran.exits_with(0).says("test result: ok. ");
    // Most of the tests exist on Windows too.
    let passed = ran.stdout.matches(" ... ok\n").count();
    assert!(passed >= 60, "{passed}");
}
