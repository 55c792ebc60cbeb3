//! The variables that operators set for the guard, on Windows.

use super::{Report, V9_1, V9_14, cudnn, guarded, windows};
use crate::support::{Ran, fresh};
use crate::windows::wine::windows::path;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const ACTS: [&str; 2] = ["startup", "went-on"];

/// Runs a program with this cuDNN and a simulated GPU, which calls the guard and prints that it continued.
fn started(release: (u32, u32, u32), env: &[(&str, &str)]) -> Ran {
    let windows = windows();
    guarded(windows.as_ref().unwrap(), &[&cudnn(release)], &ACTS, env)
}

fn sound(env: &[(&str, &str)]) -> Ran {
    started(V9_14, env)
}

fn read(report: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap()
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_failure_can_become_a_warning_be_skipped_or_be_allowed() {
    let id = "[cudnn-version-mismatch]";
    let ran = started(V9_1, &[("CUDNN_GUARD", "warn")]).exits_with(0);
    ran.says(id)
        .says("went on")
        .does_not_say("CUDNN_GUARD=warn");
    let ran = started(V9_1, &[("CUDNN_GUARD", "off")]).exits_with(0);
    assert_eq!(ran.text(), "went on\n");
    let allow = ("CUDNN_GUARD_ALLOW", "no-gpu, cudnn-version-mismatch");
    let ran = started(V9_1, &[allow]).exits_with(0);
    assert!(
        ran.stderr
            .starts_with("cudnn-guard: allowed by CUDNN_GUARD_ALLOW: ")
    );
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.text());
    started(V9_1, &[])
        .exits_with(78)
        .says(id)
        .says("set CUDNN_GUARD=warn to start");
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn invalid_values_are_named() {
    let ran = sound(&[
        ("CUDNN_GUARD", "on"),
        ("CUDNN_GUARD_DEADLINE", "soon"),
        ("CUDNN_GUARD_ALLOW", "no-gpus"),
    ]);
    assert_eq!(
        ran.exits_with(0).stderr,
        "cudnn-guard: CUDNN_GUARD=\"on\" is not one of deny, warn, off; using deny\n\
         cudnn-guard: CUDNN_GUARD_DEADLINE=\"soon\" is not a number of seconds above 0; using 60\n\
         cudnn-guard: CUDNN_GUARD_ALLOW: unknown finding id \"no-gpus\"; did you mean `no-gpu`?\n"
    );
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_gpu_may_be_required() {
    let none = ("SIM_DEVICES", "0");
    sound(&[none])
        .exits_with(0)
        .says("[no-gpu]")
        .says("went on");
    sound(&[none, ("CUDNN_GUARD_REQUIRE_GPU", "1")])
        .exits_with(78)
        .says("CUDNN_GUARD_REQUIRE_GPU=1 requires a GPU, its driver and cuDNN");
    sound(&[("CUDNN_GUARD_REQUIRE_GPU", "1")]).exits_with(0);
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn the_requested_gpus_are_tested() {
    let tried = |env: &[(&str, &str)]| {
        let env = [&[("SIM_DEVICES", "2")], env].concat();
        let report = Report::by_check(&[&cudnn(V9_14)], &env);
        report.0["convolution"].as_array().unwrap().len()
    };
    let one = tried(&[]);
    assert!(one > 0);
    for (devices, times) in [("1", 1), ("all", 2), ("0,1", 2)] {
        assert_eq!(
            tried(&[("CUDNN_GUARD_DEVICES", devices)]),
            one * times,
            "{devices}"
        );
    }
    sound(&[("CUDNN_GUARD_DEVICES", "5")])
        .exits_with(0)
        .says("CUDNN_GUARD_DEVICES requests GPU 5, but only GPU 0 is visible");
    // A fault of only the second GPU is not visible on the first one.
    let unlike = [
        ("SIM_DEVICES", "2"),
        ("SIM_CAPABILITY", "9.0,3.0"),
        ("CUDNN_GUARD_DEVICES", "1"),
    ];
    let report = Report::by_check(&[&cudnn(V9_14)], &unlike);
    assert!(
        report
            .0
            .to_string()
            .contains("requires compute capability 5.3, but the GPU has 3.0"),
        "{:#}",
        report.0
    );
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_deadline_is_kept() {
    // The first start is not measured.
    sound(&[]);
    let began = Instant::now();
    sound(&[
        ("SIM_FAULT", "hang:cuInit"),
        ("CUDNN_GUARD_DEADLINE", "1.5"),
    ])
    .exits_with(0)
    .says("timed out while ")
    .says("went on");
    let took = began.elapsed();
    assert!(
        took > Duration::from_millis(1500) && took < Duration::from_secs(10),
        "{took:?}"
    );
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn the_report_is_written_to_the_requested_file() {
    let folder = fresh("wine-reports");
    let report = |name: &str| path(&folder.join(name));
    let write = |file: &str, env: &[(&str, &str)]| {
        sound(&[&[("CUDNN_GUARD_REPORT", file)], env].concat()).exits_with(0)
    };
    write(&report("r-%p.json"), &[]);
    let files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    let [file] = &files[..] else {
        panic!("{files:?}")
    };
    let name = file.file_name().unwrap().to_str().unwrap();
    let number = name
        .strip_prefix("r-")
        .unwrap()
        .strip_suffix(".json")
        .unwrap();
    assert!(number.parse::<u32>().unwrap() > 0);
    assert_eq!(read(file)["verdict"], "pass");
    // An existing report is replaced, and no other file is left.
    write(&report(name), &[("SIM_DEVICES", "0")]);
    assert_eq!(read(file)["verdict"], "unknown");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    let line = folder.join("termination-log");
    fs::write(&line, "").unwrap();
    write(&path(&line), &[]);
    assert_eq!(fs::read_to_string(&line).unwrap(), "cudnn-guard: pass\n");
    write(&report(r"none\at\all"), &[])
        .says(&format!(
            "cudnn-guard: CUDNN_GUARD_REPORT: cannot write `{}`: ",
            report(r"none\at\all")
        ))
        .says("[io-error]");
}

/// The names of devices, which are not files in a directory.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_report_can_go_to_a_device() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    for device in ["NUL", "nul", r"\\.\NUL"] {
        let env = [("CUDNN_GUARD_REPORT", device)];
        let ran = guarded(windows, &[&cudnn(V9_14)], &ACTS, &env).exits_with(0);
        assert_eq!(ran.text(), "went on\n", "{device}");
    }
    let files = fs::read_dir(windows.drive()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = names
        .filter(|name| name.to_ascii_lowercase().contains("nul"))
        .collect();
    assert_eq!(left, [""; 0]);
}
