//! The report that CUDNN_GUARD_REPORT requests, on Windows.

use super::{V9_14, cudnn, guarded, windows};
use crate::support::fresh;
use crate::windows::wine::windows::path;
use serde_json::Value;
use std::fs;
use std::path::Path;

const ACTS: [&str; 2] = ["startup", "went-on"];

fn read(report: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap()
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn the_report_is_written_to_the_requested_file() {
    let folder = fresh("wine-reports");
    let report = |name: &str| path(&folder.join(name));
    let windows = &*windows();
    let write = |file: &str, env: &[(&str, &str)]| {
        let env = [&[("CUDNN_GUARD_REPORT", file)], env].concat();
        guarded(windows, &[&cudnn(V9_14)], &ACTS, &env).exits_with(0)
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
    let windows = &*windows();
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
