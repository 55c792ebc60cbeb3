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

#[test]
fn operators_can_allow_findings() {
    let cudnn = Folder::new().with_cudnn("9.10.2");
    let allow = ("CUDNN_GUARD_ALLOW", "no-gpu, cudnn-version-mismatch");
    let allowed = "cudnn-guard: allowed by CUDNN_GUARD_ALLOW: loaded cuDNN 9.10.2 is older than 9.14.0, which this program was built with  [cudnn-version-mismatch]\n";
    startup(&cudnn, &[GPU, allow]).must_continue(allowed);
    // Allowed findings are also shown next to unknown ones.
    let ran = startup(&cudnn, &[("TEST_GPU", "none"), allow]);
    let unknown = "cudnn-guard: unknown: NVIDIA's driver reports no GPU  [no-gpu]\n";
    ran.must_end_with(0)
        .must_begin(&format!("{allowed}{unknown}"));
    let ran = check(&cudnn, &[GPU, allow]);
    ran.must_be("pass", &["cudnn-version-mismatch"]);
    assert_eq!(ran.json["findings"][0]["severity"], "warning");
    assert_eq!(ran.evidence("allowed"), "by CUDNN_GUARD_ALLOW");
}

#[test]
fn invalid_values_are_named() {
    let cudnn = sound();
    startup(&cudnn, &[GPU, ("CUDNN_GUARD", "on"), ("CUDNN_GUARD_DEADLINE", "soon")]).must_continue(
            "cudnn-guard: CUDNN_GUARD=\"on\" is not one of deny, warn, off; using deny\n\
             cudnn-guard: CUDNN_GUARD_DEADLINE=\"soon\" is not a number of seconds above 0; using 60\n",
    );
}

/// The build reports an unknown id in build.rs in the same way.
#[test]
fn an_unknown_finding_id_is_named() {
    let cudnn = sound();
    startup(&cudnn, &[GPU, ("CUDNN_GUARD_ALLOW", "no-gpu,cudnn-version-mismach")])
    .must_continue("cudnn-guard: CUDNN_GUARD_ALLOW: unknown finding id \"cudnn-version-mismach\"; did you mean `cudnn-version-mismatch`?\n");
}

#[test]
fn without_a_gpu_at_most_four_lines_are_printed() {
    let cudnn = sound();
    startup(&cudnn, &[]).must_be_unknown(
"\
`libcuda.so.1`, the library of NVIDIA's driver, cannot be opened, so no GPU can be used  [driver-missing]
  = help: install NVIDIA's driver, or run on a machine that has a GPU
  loader      libcuda.so.1:; no
");
    startup(&cudnn, &[("TEST_GPU", "none")]).must_be_unknown(
        "\
NVIDIA's driver reports no GPU  [no-gpu]
  = help: run on a machine that has a GPU, or ask the scheduler for one
  library     /drv/libcuda.so.1
  driver      580.1, supports CUDA 13.0
",
    );
    let ran = check(&cudnn, &[("TEST_GPU", "none")]);
    ran.must_be("unknown", &["no-gpu"]);
    assert_eq!(ran.json["driver"]["library"], "/drv/libcuda.so.1");
    assert_eq!(ran.json["loaded"]["version"], "9.14.0");
    startup(&cudnn, &[("CUDNN_GUARD_REQUIRE_GPU", "1")])
        .must_stop(
            "\
`libcuda.so.1`, the library of NVIDIA's driver, cannot be opened, so no GPU can be used  [driver-missing]
  = help: install NVIDIA's driver, or run on a machine that has a GPU
  = help: start a container with NVIDIA's container toolkit (`--gpus all`), which provides the driver's libraries
  loader      libcuda.so.1:
              no
  required    CUDNN_GUARD_REQUIRE_GPU=1 requires a GPU, its driver and cuDNN
  see         cudnn-guard explain driver-missing
  = help: set CUDNN_GUARD=warn",
    );
}

/// A problem that would matter with a GPU is reported next to the missing GPU, together with its fix.
#[test]
fn other_findings_are_printed_with_an_unknown_verdict() {
    let cudnn = sound();
    let path = cudnn.text();
    let no_gpu = "\
cudnn-guard: unknown: NVIDIA's driver reports no GPU  [no-gpu]
  = help: run on a machine that has a GPU, or ask the scheduler for one
  library     /drv/libcuda.so.1
";
    let none = ("TEST_GPU", "none");
    let old = [none, ("TEST_CUDA", "12020"), ("TEST_TABLES", "1")];
    let ran = check(&cudnn, &old);
    ran.must_be(
        "unknown",
        &["no-gpu", "known-bad-release", "driver-too-old"],
    );
    startup(&cudnn, &old[..2]).must_continue(&format!(
            "{no_gpu}  also        the NVIDIA driver supports CUDA 12.2, but the loaded cuDNN requires CUDA 13  \
             [driver-too-old]; help: upgrade the NVIDIA driver to a version that supports CUDA 13\n"
    ));
    let shim = "unsigned long cudnnGetVersion(void) { return 91400; }
        unsigned long cudnnGetCudartVersion(void) { return 12090; }";
    crate::support::installation::compile(
        shim,
        &cudnn.file("libcudnn.so.9"),
        &["-Wl,-rpath,$ORIGIN"],
    );
    startup(&cudnn, &[none]).must_continue(&format!(
            "{no_gpu}  also        loaded cuDNN was built for CUDA 12, but this program was built with cuDNN for CUDA 13  \
             [cuda-flavour-mismatch]; help: remove `{path}` from LD_LIBRARY_PATH, or add the directory of the \
             cuDNN for CUDA 13 before it\n"
    ));
    // The program may work anyway, in which case nothing is printed.
    startup(&cudnn, &[GPU]).must_be_silent();
}

#[test]
fn a_missing_cudnn_is_a_failure_only_with_a_gpu() {
    let empty = Folder::new();
    check(&empty, &[]).must_be("unknown", &["cudnn-not-loadable", "driver-missing"]);
    check(&empty, &[GPU]).must_be("fail", &["cudnn-not-loadable"]);
    let path = empty.text();
    startup(&empty, &[GPU]).must_stop(&format!(
        "\
cannot load `libcudnn.so.9`  [cudnn-not-loadable]
  = help: install cuDNN 9, or add the directory of its libcudnn.so.9 to LD_LIBRARY_PATH
  loader      libcudnn.so.9: cannot open shared object file: No such file or directory
  searched    LD_LIBRARY_PATH, its entry `{path}`
"
    ));
    check(&empty, &[GPU, ("TEST_LINKED", "1")]).must_be("unknown", &["not-loaded-yet"]);
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

#[test]
fn the_convolution_decides_the_verdict() {
    let cudnn = sound();
    let ran = check(&cudnn, &[GPU, ("TEST_CONVOLUTION", "wrong")]);
    ran.must_be("fail", &["convolution-wrong"]);
    assert!(ran.json["convolution"][0]["largest_error"].is_null());
    check(&cudnn, &[GPU, ("TEST_CONVOLUTION", "busy")]).must_be("unknown", &["device-busy"]);
    check(&cudnn, &[GPU, ("TEST_CUDA", "12080")]).must_be("fail", &["driver-too-old"]);
    check(&cudnn, &[GPU, ("TEST_TARGETS", "sm_80")]).must_be("fail", &["kernels-not-covering-gpu"]);
    let ampere = ("TEST_GPU", "86");
    check(&cudnn, &[ampere, ("TEST_TARGETS", "sm_80")]).must_be("pass", &[]);
    // Of different GPUs, the first one that can run a kernel is tested.
    let unlike = |gpus| {
        let variables = [("TEST_GPU", gpus), ("TEST_TARGETS", "sm_80")];
        check(&cudnn, &variables)
    };
    let ran = unlike("75,86");
    ran.must_be("pass", &["kernels-not-covering-gpu"]);
    assert_eq!(
        ran.evidence("order"),
        "CUDA_DEVICE_ORDER is not set, so CUDA puts the fastest GPU first"
    );
    unlike("75,90").must_be(
        "fail",
        &["kernels-not-covering-gpu", "kernels-not-covering-gpu"],
    );
}

/// A GPU that computes is supported, whatever the tables say. The tables decide for GPUs that were not
/// tested.
#[test]
fn a_gpu_that_the_loaded_version_does_not_support_stops_the_program() {
    let cudnn = sound();
    let check = |gpu, convolution| {
        let tables = ("TEST_TABLES", "1");
        let variables = [("TEST_GPU", gpu), ("TEST_CONVOLUTION", convolution), tables];
        check(&cudnn, &variables)
    };
    let bad = "known-bad-release";
    check("61", "busy").must_be("fail", &["arch-dropped-by-cudnn", bad, "device-busy"]);
    check("61", "right").must_be("pass", &[bad, "arch-dropped-by-cudnn"]);
    check("120", "busy").must_be("fail", &["gpu-newer-than-cudnn", bad, "device-busy"]);
    check("90", "right").must_be("pass", &[bad]);
}

/// A version with a known bug, and a version that is newer than all known ones.
#[test]
fn known_faults_are_reported_without_a_gpu() {
    let tables = ("TEST_TABLES", "1");
    let ran = version(&sound(), &[tables]);
    ran.must_be("pass", &["known-bad-release"]);
    assert_eq!(ran.json["findings"][0]["severity"], "warning");
    let newer = Folder::new().with_cudnn("9.30.1");
    let ran = version(&newer, &[tables]);
    ran.must_be("pass", &["unknown-newer-version"]);
    assert_eq!(ran.json["findings"][0]["severity"], "note");
    assert_eq!(
        ran.json["findings"][0]["summary"],
        "cuDNN 9.30.1 is newer than cudnn-guard knows; using the rules for 9.28.0"
    );
}

#[test]
fn a_cudnn_of_two_sub_libraries_only_compiles_graphs() {
    let mut cudnn = sound();
    for part in ["ops", "cnn", "adv", "heuristic", "engines_precompiled"] {
        cudnn = cudnn.without(&format!("libcudnn_{part}.so.9"));
    }
    let jit = ("CUDNN_LIB_CONFIG", "GRAPH_JIT_ONLY");
    let ran = check(&cudnn, &[GPU, jit]);
    ran.must_be("pass", &[]);
    assert_eq!(ran.json["convolution"][0]["api"], "graph");
    // Without the variable, cuDNN may abort because the other sub-libraries are missing.
    check(&cudnn, &[GPU]).must_be("unknown", &["convolution-failed"]);
    startup(&cudnn, &[GPU]).must_be_unknown("this cuDNN only compiles graphs at run time and is not configured for it, so no convolution was tested  [convolution-failed]\n  \
         = help: set CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY, which NVIDIA requires for a cuDNN without the other sub-libraries\n",
    );
    check(&cudnn, &[]).must_be("unknown", &["driver-missing"]);
    // If no operation is supported, the verdict is unknown.
    let unsupported = ("TEST_CONVOLUTION", "unsupported");
    let ran = check(&cudnn, &[GPU, jit, unsupported]);
    ran.must_be("unknown", &["convolution-failed"]);
    assert_eq!(
        ran.json["findings"][0]["summary"],
        "no convolution could be tested"
    );
}

#[test]
fn a_program_built_without_cuda_reports_the_reason() {
    let cudnn = sound();
    let absent = ("TEST_ABSENT", "1");
    startup(&cudnn, &[GPU, absent])
        .must_be_unknown("this program was built without CUDA  [built-without-cuda]\n");
    let ran = check(&cudnn, &[absent]);
    assert_eq!(ran.evidence("reason"), "no CUDA\nfor aarch64");
}
