//! Complete runs of a program with a guard, on small cuDNNs.

use super::program::{GPU, check, run, startup, version};
use crate::support::installation::{Folder, sound};

#[test]
fn a_valid_cudnn_passes_silently() {
    let cudnn = sound();
    startup(&cudnn, &[GPU]).must_be_silent();
    let ran = check(&cudnn, &[GPU]);
    ran.must_end_with(0).must_be("pass", &[]);
    let path = cudnn.text();
    assert_eq!(ran.json["schema"], 1);
    assert_eq!(ran.json["built"]["cudnn"], "9.14.0");
    assert_eq!(ran.json["built"]["cuda"], "13.0");
    assert_eq!(ran.json["loaded"]["version"], "9.14.0");
    assert_eq!(ran.json["loaded"]["cuda_major"], 13);
    assert_eq!(ran.json["loaded"]["path"], format!("{path}/libcudnn.so.9"));
    assert_eq!(
        ran.json["loaded"]["found_via"],
        format!("LD_LIBRARY_PATH, its entry `{path}`")
    );
    let parts = ran.json["loaded"]["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 7);
    assert_eq!(parts[0]["name"], "graph");
    assert_eq!(parts[0]["version"], "9.14.0");
    assert_eq!(parts[0]["told_by"], "version symbol");
    assert_eq!(parts[2]["name"], "cnn");
    assert!(parts[2]["told_by"].is_null());
    assert_eq!(ran.json["driver"]["cuda"], "13.0");
    assert_eq!(ran.json["devices"][0]["compute_capability"], "9.0");
    assert_eq!(ran.json["devices"][0]["name"], "Test\tGPU");
    assert_eq!(
        ran.json["convolution"],
        serde_json::json!([{
            "device": "Test\tGPU",
            "operation": "convolution forward",
            "data_type": "f32",
            "verdict": "pass",
            "largest_error": 1.25e-7,
            "milliseconds": 0.5,
            "api": "legacy",
            "layout": "NCHW",
            "algorithm": "IMPLICIT_GEMM",
            "rounds_to_tf32": false,
            "left_out": null,
            "context_milliseconds": 100.0,
            "handle_milliseconds": 20.0,
        }])
    );
    assert_eq!(
        ran.text,
        format!(
            "\
cuDNN: pass
  built with  cuDNN 9.14.0, CUDA 13.0
  loaded      {path}/libcudnn.so.9: 9.14.0, built for CUDA 13
  found via   LD_LIBRARY_PATH, its entry `{path}`
  sub-libs    {path}
    libcudnn_graph.so.9                     9.14.0 from its version symbol
    libcudnn_ops.so.9                       9.14.0 from its version symbol
    libcudnn_cnn.so.9                       version unknown
    libcudnn_heuristic.so.9                 version unknown
    libcudnn_engines_precompiled.so.9       version unknown
    libcudnn_engines_runtime_compiled.so.9  version unknown
    libcudnn_adv.so.9                       9.14.0 from its version symbol
  driver      /drv/libcuda.so.1 580.1, supports CUDA 13.0
  device      Test\\tGPU, compute capability 9.0
  tested      f32 convolution forward on Test\\tGPU: pass, largest error 1.2e-7, 0.5 ms"
        )
    );
}

#[test]
fn a_version_check_starts_nothing() {
    let cudnn = sound();
    let ran = version(&cudnn, &[("TEST_CONVOLUTION", "abort"), GPU]);
    ran.must_end_with(0).must_be("pass", &[]);
    assert!(ran.json["driver"].is_null());
}

#[test]
fn an_older_cudnn_stops_the_program() {
    let cudnn = Folder::new().with_cudnn("9.10.2");
    let path = cudnn.text();
    let cause = format!(
        "\
loaded cuDNN 9.10.2 is older than 9.14.0, which this program was built with  [cudnn-version-mismatch]
  = help: remove `{path}` from LD_LIBRARY_PATH, or add the directory of cuDNN 9.14 or later 9.x before it
  loaded      {path}/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `{path}`
  built with  9.14.0 (compatible: 9.14 or later 9.x)
"
    );
    let see = "  see         cudnn-guard explain cudnn-version-mismatch\n";
    let hint = "  = help: set CUDNN_GUARD=warn to start the program anyway\n\n";
    startup(&cudnn, &[GPU]).must_stop(&format!("{cause}{see}{hint}cuDNN: fail\n"));
    // The verdict is the same without a GPU, and for a version check.
    startup(&cudnn, &[]).must_end_with(78);
    version(&cudnn, &[]).must_be("fail", &["cudnn-version-mismatch"]);
    startup(&cudnn, &[GPU, ("CUDNN_GUARD", "warn")])
        .must_end_with(0)
        .must_begin(&format!("{cause}{see}\ncuDNN: fail\n"));
    startup(&cudnn, &[GPU, ("CUDNN_GUARD", "off")]).must_be_silent();
    startup(&cudnn, &[GPU, ("TEST_FINDINGS", "1")]).must_stop(&format!(
        "{cause}  at build    nvcc and cuda.h differ [nvcc-header-skew]\n{see}{hint}"
    ));
}

/// An operation that a GPU does not support is listed, and does not prevent a pass.
#[test]
fn a_thorough_check_reports_what_was_left_out() {
    let cudnn = sound();
    let ran = run("thorough", &cudnn.0, &[GPU]);
    ran.must_be("pass", &[]);
    let row = &ran.json["convolution"][1];
    assert_eq!(row["data_type"], "bf16");
    assert_eq!(row["verdict"], "unknown");
    assert_eq!(row["left_out"], "this\tGPU is too old");
    assert!(row["algorithm"].is_null() && row["rounds_to_tf32"].is_null());
    assert!(row["context_milliseconds"].is_null() && row["handle_milliseconds"].is_null());
    assert!(
        ran.text.ends_with(
            "\n  tested      f32 convolution forward on Test\\tGPU: pass, largest error 1.2e-7, 0.5 ms\
             \n  not tested  bf16 convolution forward: this\\tGPU is too old"
        ),
        "{}",
        ran.text
    );
}
