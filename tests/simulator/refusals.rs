//! The refusals that stop a program: alternatives are tested first, and a refusal that is not a fault is reported.

use super::kinds::{rows, tried};
use crate::{ALL, V8_9, V9_14, V9_28, convolve};
use cudnn_guard::internals::convolution::failure::{CaseFailure, Unsupported};
use cudnn_guard::internals::cudnn::algorithm::Algorithm;
use cudnn_guard::internals::cudnn::operation::Operation;

const STATUSES: [(&str, (u32, u32, u32)); 4] = [
    ("4000", V9_14),
    ("5000", V9_14),
    ("3007", V9_28),
    ("8", V8_9),
];

/// After any refusal the plain algorithm is tested, then those that cuDNN's heuristic offers.
#[test]
fn another_algorithm_is_tested_after_a_refusal() {
    for (status, version) in STATUSES {
        let only = [("SIM_ALGORITHMS", &format!("1={status}")[..])];
        let ended = tried("quick", version, &only);
        ended.must_have("convolution forward, f32, NCHW, IMPLICIT_GEMM: pass");
        assert_eq!(rows(&ended, ": fail").len(), 0, "{}", ended.report);
        let both = [("SIM_ALGORITHMS", &format!("1={status} 0={status}")[..])];
        tried("quick", version, &both).must_have("convolution forward, f32, NCHW, FFT: pass");
        let all = [(
            "SIM_ALGORITHMS",
            &format!("1={status} 0={status} 4={status}")[..],
        )];
        convolve(version, &all)
            .must_have("fail None")
            .must_have("  operation   convolution forward, f32, NCHW, IMPLICIT_PRECOMP_GEMM\n");
    }
    // The most informative refusal is reported.
    convolve(V9_14, &[("SIM_ALGORITHMS", "1=3000 0=5000 4=1002")])
        .must_have("returned CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH (1002)")
        .must_have("f32, NCHW, FFT\n");
    // A GPU that has failed is not used again.
    let crash = [("SIM_FAULT", "status:cuCtxSynchronize:700")];
    convolve(V9_14, &crash).must_have("f32, NCHW, IMPLICIT_PRECOMP_GEMM\n");
}

/// Another algorithm may need less memory, and another function.
#[test]
fn an_algorithm_without_its_function_or_memory_counts_as_refused() {
    let [algorithm, _] = Algorithm::usual(Operation::Forward);
    let workspace = Unsupported::Workspace(1 << 30, algorithm);
    for reason in [Unsupported::MissingFunction("cudnnCreate"), workspace] {
        assert!(CaseFailure::Unsupported(reason).is_refusal());
    }
}

/// The guard allocates no workspace that would fill a GPU, so it does not run such an algorithm.
#[test]
fn an_algorithm_with_too_large_a_workspace_is_not_run() {
    let first = tried("quick", V9_14, &[("SIM_WORKSPACES", "1=1")]);
    first.must_have("convolution forward, f32, NCHW, IMPLICIT_GEMM: pass");
    assert_eq!(rows(&first, ": pass").len(), 6, "{}", first.report);
    let set = [
        ("SIM_WORKSPACES", "1=1 0=1 4=1"),
        ("SIM_ONLY", "forward f16"),
    ];
    let all = tried("quick", V9_14, &set);
    all.must_have(
        "convolution forward, f16, NCHW, IMPLICIT_PRECOMP_GEMM: left out, cuDNN requires 1024 MiB of workspace\n",
    );
    assert_eq!(rows(&all, ": pass").len(), 5, "{}", all.report);
}

/// If the first convolution fails, the refusals of the others are failures too.
#[test]
fn if_the_first_convolution_fails_other_refusals_count() {
    for (status, version) in STATUSES {
        let fault = format!("status:cudnnConvolutionForward:{status}");
        let ended = tried("quick", version, &[("SIM_FAULT", &fault)]);
        let times = if status == "3007" { 1 } else { 3 };
        assert_eq!(rows(&ended, ": fail").len(), times, "{}", ended.report);
    }
}

/// The tables may not apply to a GPU or a version that is newer than they are.
#[test]
fn an_unsupported_convolution_on_a_new_gpu_or_version_is_unknown() {
    for (status, name) in [
        (3012, "NOT_SUPPORTED_BAD_LAUNCH_PARAM"),
        (3013, "NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API"),
        (3014, "NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE"),
        (3000, "NOT_SUPPORTED"),
    ] {
        let fault = format!("status:cudnnConvolutionForward:{status}");
        let ended = tried("new", V9_28, &[("SIM_FAULT", &fault)]);
        ended.must_have(&format!(
            "warning: `cudnnConvolutionForward` of cuDNN 9.28.0 returned CUDNN_STATUS_{name} ({status})"
        ));
        assert_eq!(rows(&ended, ": fail").len(), 0, "{}", ended.report);
        assert_eq!(rows(&ended, ": unknown").len(), 1, "{}", ended.report);
    }
    let set = [("SIM_FAULT", "status:cudnnConvolutionForward:3000")];
    // Known ones are supported.
    assert_eq!(rows(&tried("quick", V9_28, &set), ": fail").len(), 1);
    let broken = [("SIM_FAULT", "status:cudnnConvolutionForward:4000")];
    assert!(!rows(&tried("new", V9_28, &broken), ": fail").is_empty());
}

const GIB: &str = "1073741824";

/// cuDNN's status may not name the lack of memory, and there may be enough memory again afterwards.
#[test]
fn a_lack_of_memory_is_recognized_by_any_of_its_statuses() {
    let low = "unknown None
warning: Simulated GPU may have too little free memory to test a convolution: 1024 MiB  [device-memory-low]
  = help: free memory on the GPU: `nvidia-smi` shows which processes use it
";
    for version in ALL {
        let statuses: &[u32] = match version.0 {
            8 => &[1, 4, 8],
            _ => &[1001, 4000, 5000, 5003],
        };
        for status in statuses {
            for call in ["cudnnCreate", "cudnnConvolutionForward"] {
                let fault = format!("status:{call}:{status}");
                let fault = ("SIM_FAULT", &fault[..]);
                convolve(
                    version,
                    &[fault, ("SIM_MEMORY", GIB), ("SIM_MEMORY_LATER", GIB)],
                )
                .must_have(low)
                .must_have(&format!("  cuDNN       `{call}` returned "));
                convolve(version, &[fault, ("SIM_MEMORY_LATER", GIB)]).must_have(low);
                convolve(version, &[fault]).must_have("fail None");
            }
            let fault = format!("status:cudnnCreate:{status}");
            let before = [
                ("SIM_FAULT", &fault[..]),
                ("SIM_MEMORY", GIB),
                ("SIM_MEMORY_LATER", "8589934592"),
            ];
            convolve(version, &before).must_have(low);
        }
    }
    // An amount that is little for a large GPU is half of a small one.
    let half = [
        ("SIM_FAULT", "status:cudnnCreate:4000"),
        ("SIM_MEMORY", GIB),
        ("SIM_MEMORY_LATER", GIB),
    ];
    convolve(V9_14, &[&half[..], &[("SIM_TOTAL", "2147483648")]].concat()).must_have("fail None");
    // Other statuses do not result from a lack of memory.
    let supported = [
        ("SIM_FAULT", "status:cudnnConvolutionForward:3007"),
        ("SIM_MEMORY", GIB),
    ];
    convolve(V9_14, &supported).must_have("fail None");
}

/// Mixed sub-libraries are reported even if there is little memory.
#[test]
fn mixed_sub_libraries_are_reported_even_with_little_memory() {
    for (status, version) in [
        ("1002", V9_14),
        ("1008", V9_14),
        ("3009", V9_28),
        ("14", V8_9),
    ] {
        for call in ["cudnnCreate", "cudnnConvolutionForward"] {
            let fault = format!("status:{call}:{status}");
            let set = [("SIM_FAULT", &fault[..]), ("SIM_MEMORY", "104857600")];
            convolve(version, &set)
                .must_have("fail None")
                .must_have(&format!("({status}) on Simulated GPU"));
        }
    }
}
