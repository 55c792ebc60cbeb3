//! The report as JSON.

use super::*;
use crate::runtime::facts::FindingId;

#[test]
fn the_json_contains_the_values() {
    let mut report = complete_report();
    report.findings = vec![FindingId::NoGpu.note("a note")];
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).expect("JSON");
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
        (
            "/host_compiler",
            serde_json::json!("gcc 14.2.0 at /usr/bin/gcc"),
        ),
        ("/driver/cuda", serde_json::json!("13.0")),
        (
            "/cudnn/parts/3/told_by",
            serde_json::json!("symbol cudnn_graph_version"),
        ),
        ("/gpus/0/name", serde_json::json!("NVIDIA H200")),
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
