//! A cuDNN of an incompatible version, whose other faults do not matter.

use super::farm::Farm;
use super::judged::{Start, ids, windows};
use super::{V8_9_7, V9_10, V9_28};
use std::fs;

/// cuDNN 8 opens the sub-libraries of cuDNN 8, whatever its file is called.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn cudnn_8_under_the_name_of_cudnn_9_is_reported() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let farm = Farm::of(windows, "cuDNN", V8_9_7);
    fs::rename(farm.file("cudnn64_8.dll"), farm.file("cudnn64_9.dll")).unwrap();
    let start = Start::of("nine").path(&farm.path);
    let report = start.json(windows, "check");
    let first = &report["findings"][0];
    assert_eq!(
        first["summary"],
        "loaded cuDNN 8.9.7 does not meet the requirement `>=9.14, <10` of this program"
    );
    assert_eq!(
        first["help"][0],
        r"remove `C:\cuDNN` from PATH, or add the directory of a cuDNN that meets `>=9.14, <10` before it"
    );
    assert!(
        !report.to_string().contains("64_9.dll, which"),
        "{report:#}"
    );
    assert!(!report.to_string().contains("_infer64_9"), "{report:#}");
    Farm::of(windows, "nine", V9_28);
    let report = Start::of("nine")
        .path(r"C:\nine;C:\cuDNN")
        .json(windows, "check");
    assert_eq!(ids(&report), ["driver-missing"], "{report:#}");
}

/// Completing an incompatible version would not help.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn an_incompatible_version_is_not_recommended() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    Farm::of(windows, "older", V9_10).without("cudnn_ops64_9.dll");
    Farm::of(windows, "cuDNN", V9_28).without("cudnn_ops64_9.dll");
    let start = Start::of("nine").path(r"C:\older;C:\cuDNN");
    let report = start.json(windows, "check");
    assert_eq!(
        ids(&report)[..2],
        ["cudnn-version-mismatch", "parts-missing"],
        "{report:#}"
    );
    assert_eq!(report["findings"][1]["help"], serde_json::json!([]));
    // In a compatible version, the missing sub-library matters.
    let start = start.without(r"C:\older");
    let report = start.json(windows, "check");
    let first = &report["findings"][0];
    assert_eq!(first["id"], "parts-missing", "{report:#}");
    assert_eq!(
        first["help"][0],
        r"reinstall cuDNN 9.28.0 in `C:\cuDNN`: the main library opens the others from there"
    );
    Farm::of(windows, "cuDNN", V9_28);
    assert_eq!(ids(&start.json(windows, "check")), ["driver-missing"]);
}
