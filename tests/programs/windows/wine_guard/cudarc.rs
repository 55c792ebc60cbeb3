//! A real program with the real cudarc on Windows: cudarc uses the same file that the guard checked.

use super::{V8_9, V9_10, V9_14, copied, cudnn, start, windows};
use crate::support::{Ran, consumers, fresh, scratch};
use crate::windows::wine::windows::{built, path};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn program() -> PathBuf {
    built(consumers(), &["-p", "with-cudarc"], "with-cudarc")
}

/// Runs the program with a guard that only warns, and returns the output and the report.
fn run_with_report(folders: &[&Path], arguments: &[&str]) -> (Ran, Value) {
    let windows = &*windows();
    let report = fresh("wine-cudarc-report").join("json");
    let there = path(&report);
    let env = [("CUDNN_GUARD", "warn"), ("CUDNN_GUARD_REPORT", &there)];
    let ran = start(windows, &program(), folders, arguments, &env);
    let text = fs::read_to_string(report).unwrap_or_else(|_| panic!("{}", ran.text()));
    (ran, serde_json::from_str(&text).unwrap())
}

/// Checks that cudarc and the guard used this file of this version, and that the guard reported these ids.
#[track_caller]
fn both_use(folders: &[&Path], arguments: &[&str], file: &Path, release: &str, ids: &[&str]) {
    let (ran, report) = run_with_report(folders, arguments);
    let (text, file) = (ran.text(), path(file));
    assert_eq!(report["loaded"]["path"], file, "{text}");
    assert_eq!(report["loaded"]["version"], release, "{text}");
    let output = ran.exits_with(0).stdout;
    assert!(
        output.trim_end().ends_with(&format!(" in {file}")),
        "{text}"
    );
    let findings = report["findings"].as_array().unwrap().iter();
    let found: Vec<&str> = findings.map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(found, ids, "{text}");
}

/// The cudarc sources contain the names under which cudarc opens cuDNN on Windows.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn the_names_that_cudarc_opens_are_known_in_order() {
    let windows = &*windows();
    let ran = start(windows, &program(), &[], &["names"], &[]);
    let ran = ran.exits_with(0);
    let names: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(names.len(), 2, "{}", ran.text());
    assert!(names[0].starts_with("cudnn.dll cudnn64.dll cudnn64_12.dll "));
    assert_eq!(names[0], names[1]);
}

/// With one or two directories, another name, another major version, nothing, and a cudarc that opened cuDNN first.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn the_guard_checks_the_file_that_cudarc_uses() {
    let file = "cudnn64_9.dll";
    let (whole, old, eight) = (cudnn(V9_14), cudnn(V9_10), cudnn(V8_9));
    let mismatch = ["cudnn-version-mismatch"];
    both_use(&[&whole], &[], &whole.join(file), "9.14.0", &[]);
    both_use(&[&whole], &["first"], &whole.join(file), "9.14.0", &[]);
    both_use(&[&old], &["first"], &old.join(file), "9.10.2", &mismatch);
    both_use(&[&old, &whole], &[], &old.join(file), "9.10.2", &mismatch);
    // cudarc never opens the name of cuDNN 8.
    both_use(&[&eight, &whole], &[], &whole.join(file), "9.14.0", &[]);
    // `cudnn.dll` is used first, whichever directory it is in.
    let renamed = copied("cudarc-renamed", V9_10);
    fs::rename(renamed.join(file), renamed.join("cudnn.dll")).unwrap();
    both_use(
        &[&whole, &renamed],
        &[],
        &renamed.join("cudnn.dll"),
        "9.10.2",
        &mismatch,
    );
    let (ran, _) = run_with_report(&[&whole, &renamed], &[]);
    let whole = path(&whole);
    ran.says(&format!(
        "= help: create a copy `cudnn.dll` of `cudnn64_9.dll` in `{whole}`: cudarc searches all directories for that name"
    ));
    // No cuDNN exists: the guard reports it before cudarc panics.
    let nothing = "or any other name that cudarc 0.";
    let empty = scratch("wine-cudarc-empty");
    for folders in [&[&*empty][..], &[&eight]] {
        let (ran, report) = run_with_report(folders, &[]);
        assert_eq!(report["loaded"], Value::Null, "{report:#}");
        let ran = ran.exits_with(101);
        let reported = ran.stderr.find("[cudnn-not-loadable]");
        let panicked = ran
            .stderr
            .find("Unable to dynamically load the \"cudnn\" shared library");
        assert!(reported.is_some() && reported < panicked, "{}", ran.text());
        if folders[0] == empty {
            ran.says(nothing);
        } else {
            ran.says("; only `").says("cudnn64_8.dll` was found");
        }
    }
}
