//! The report as JSON.

use super::*;
use crate::runtime::facts::finding_id::FindingId;

/// Returns the keys of an object, in order.
fn keys(json: &serde_json::Value) -> Vec<&str> {
    let mut keys: Vec<&str> = json
        .as_object()
        .map(|object| object.keys().map(String::as_str).collect())
        .unwrap_or_default();
    keys.sort_unstable();
    keys
}

fn sorted<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

#[test]
fn the_json_has_exactly_these_keys() {
    let mut report = complete_report();
    report.findings = vec![Finding::note(FindingId::NoGpu, "a note")];
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).expect("JSON");
    for (pointer, names) in [
        (
            "",
            &[
                "schema",
                "kind",
                "verdict",
                "toolkit",
                "cudnn",
                "candidates",
                "host_compiler",
                "driver",
                "gpus",
                "targets",
                "findings",
            ][..],
        ),
        (
            "/toolkit",
            &[
                "root",
                "version",
                "nvcc",
                "include_dirs",
                "link_dirs",
                "found_via",
                "gpu_codes",
            ],
        ),
        (
            "/cudnn",
            &[
                "version",
                "header",
                "include_dir",
                "library",
                "library_version",
                "link_dir",
                "link_name",
                "cuda_major",
                "found_via",
                "gpu_codes",
                "parts",
                "owner",
            ],
        ),
        ("/cudnn/owner", &["installer", "name", "version"]),
        ("/cudnn/parts/0", &["name", "path", "version", "told_by"]),
        (
            "/candidates/1",
            &["kind", "path", "found_via", "version", "chosen", "rejected"],
        ),
        ("/driver", &["library", "version", "cuda"]),
        ("/gpus/0", &["name", "compute_capability"]),
        (
            "/findings/0",
            &["id", "severity", "summary", "evidence", "help"],
        ),
    ] {
        let found = json.pointer(pointer).expect(pointer);
        assert_eq!(keys(found), sorted(names), "{pointer}");
    }
    for (pointer, value) in [
        ("/schema", serde_json::json!(1)),
        ("/verdict", serde_json::json!("pass")),
        ("/toolkit/version", serde_json::json!("13.0")),
        ("/toolkit/found_via", serde_json::json!("CUDA_HOME")),
        ("/toolkit/gpu_codes", serde_json::json!(["sm_90"])),
        ("/cudnn/version", serde_json::json!("9.14.0")),
        ("/cudnn/link_name", serde_json::json!("libcudnn.so.9")),
        ("/cudnn/cuda_major", serde_json::json!(13)),
        ("/cudnn/found_via", serde_json::json!("CUDNN_PATH")),
        ("/cudnn/gpu_codes/2", serde_json::json!("sm_90a")),
        ("/cudnn/owner/installer", serde_json::json!("conda")),
        ("/cudnn/owner/name", serde_json::json!("cudnn")),
        ("/cudnn/owner/version", serde_json::json!("9.14.0.64")),
        ("/cudnn/parts/1/version", serde_json::json!(null)),
        ("/candidates/1/kind", serde_json::json!("toolkit")),
        ("/candidates/1/chosen", serde_json::json!(false)),
        ("/candidates/2/rejected", serde_json::json!(null)),
        ("/driver/cuda", serde_json::json!("13.0")),
        ("/gpus/0/compute_capability", serde_json::json!("9.0")),
        ("/targets", serde_json::json!(["sm_90", "compute_90"])),
    ] {
        assert_eq!(json.pointer(pointer), Some(&value), "{pointer}");
    }
}

#[test]
fn missing_values_are_null_or_empty() {
    assert_eq!(
        ToolchainReport::default().to_json(),
        "{\"schema\":1,\"kind\":\"doctor\",\"verdict\":\"unknown\",\"toolkit\":null,\"cudnn\":null,\"candidates\":[],\
         \"host_compiler\":null,\"driver\":null,\"gpus\":[],\"targets\":[],\"findings\":[]}"
    );
}

/// JSON does not escape DEL and C1 controls, which a terminal may interpret.
#[test]
fn no_text_from_the_machine_can_move_the_cursor() {
    let mut report = complete_report();
    report.findings = vec![Finding::note(FindingId::NoGpu, "a\u{7f}b\u{9b}2Jc\n\"d\"")];
    let line = report.to_json();
    assert!(!line.contains(char::is_control), "{line:?}");
    let json: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(
        json.pointer("/findings/0/summary"),
        Some(&serde_json::json!("a\u{7f}b\u{9b}2Jc\n\"d\""))
    );
}
