//! Faults of a cuDNN, each found by the first convolution or by an earlier step.

use crate::support::rows;
use crate::{ALL, V8_9, V9_14, V9_28, convolve, convolve_in, fault, in_tree, simulated, without};
use cudnn_guard::internals::loader::file_name;

#[test]
fn a_valid_cudnn_passes() {
    for version in ALL {
        let ended = convolve(version, &[]);
        ended.must_have("\"Simulated GPU\" pass Some(");
        let error = ended.report.split(['(', ')']).nth(1).unwrap();
        let error: f64 = error.parse().unwrap();
        assert!(error > 0.0 && error < 1e-4, "{version:?}: {error}");
        assert_eq!(ended.report.lines().count(), 1, "{}", ended.report);
    }
}

#[test]
fn one_wrong_number_is_found() {
    fault(V9_14, "wrong").must_be(
        "\"Simulated GPU\" fail Some(0.25000001220845935)
error: cuDNN 9.14.0 computed a wrong forward convolution in f32 on Simulated GPU: error 2.5e-1 exceeds the limit of 1.2e-4  [convolution-wrong]
  = help: install compatible versions of cuDNN, CUDA and the driver: `cudnn-guard doctor` shows the installed ones
  = help: run the program on another GPU if these versions are compatible: `nvidia-smi -q -d ECC` shows memory errors of this GPU
  operation   convolution forward, f32, NCHW, IMPLICIT_PRECOMP_GEMM
  shape       x 2x8x14x14, w 8x8x3x3, padding 1, stride 1
  element     y[1][0][0][0] is 0.43657643, but should be 0.1865764
  wrong       1 of 3136 numbers
",
    );
    fault(V8_9, "wrong").must_have("cuDNN 8.9.7 computed a wrong forward convolution in f32");
}

#[test]
fn each_kind_of_wrong_result_is_described() {
    for version in ALL {
        fault(version, "nan")
            .must_have("fail Some(inf)")
            .must_have("on Simulated GPU: a result is not a number  [convolution-wrong]")
            .must_have("element     y[1][0][0][0] is NaN");
        fault(version, "unwritten")
            .must_have(": nothing was written  [convolution-wrong]")
            .must_have("wrong       3136 of 3136 numbers");
    }
}

#[test]
fn writing_past_the_end_is_found_even_if_the_numbers_are_right() {
    for version in ALL {
        fault(version, "overrun").must_have("wrote past the end of its output buffer");
    }
    fault(V9_14, "overrun").must_be(
        "\"Simulated GPU\" fail None
error: cuDNN 9.14.0 wrote past the end of its output buffer in a forward convolution in f32 on Simulated GPU  [convolution-wrong]
  = help: install compatible versions of cuDNN, CUDA and the driver: `cudnn-guard doctor` shows the installed ones
  operation   convolution forward, f32, NCHW, IMPLICIT_PRECOMP_GEMM
  shape       x 2x8x14x14, w 8x8x3x3, padding 1, stride 1
",
    );
}

#[test]
fn a_refusal_has_the_status_name_of_its_version() {
    fault(V9_14, "status:cudnnConvolutionForward:3007").must_be(
        "\"Simulated GPU\" fail None
error: `cudnnConvolutionForward` of cuDNN 9.14.0 returned CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH (3007) on Simulated GPU  [convolution-failed]
  = help: install a cuDNN version that supports this GPU
  operation   convolution forward, f32, NCHW, IMPLICIT_PRECOMP_GEMM
  shape       x 2x8x14x14, w 8x8x3x3, padding 1, stride 1
  last error  simulated: the convolution is set to fail
",
    );
    fault(V8_9, "status:cudnnConvolutionForward:8").must_have(
        "returned CUDNN_STATUS_EXECUTION_FAILED (8) on Simulated GPU  [convolution-failed]",
    );
    fault(V9_28, "status:cudnnConvolutionForward:5000")
        .must_have("returned CUDNN_STATUS_EXECUTION_FAILED (5000)");
    fault(V9_28, "status:cudnnConvolutionForward:7777").must_have("returned status 7777");
    fault(V9_28, "status:cudnnSetTensor4dDescriptor:2000")
        .must_have("CUDNN_STATUS_BAD_PARAM (2000)");
}

#[test]
fn a_refused_handle_is_distinguished_from_a_convolution() {
    fault(V9_14, "status:cudnnCreate:1001").must_be(
        "\"Simulated GPU\" fail None
error: `cudnnCreate` of cuDNN 9.14.0 returned CUDNN_STATUS_NOT_INITIALIZED (1001) on Simulated GPU  [cudnn-create-failed]
  = help: set CUDNN_LOGLEVEL_DBG=3 and CUDNN_LOGDEST_DBG=stderr to see cuDNN's own log
",
    );
    fault(V8_9, "status:cudnnCreate:1").must_have("CUDNN_STATUS_NOT_INITIALIZED (1)");
}

#[test]
fn an_algorithm_that_is_not_offered_is_not_a_fault() {
    // Both algorithms require it, and the simulator refuses both.
    fault(V9_14, "status:cudnnGetConvolutionForwardWorkspaceSize:3000")
        .must_have("CUDNN_STATUS_NOT_SUPPORTED (3000)")
        .must_have("NCHW, IMPLICIT_PRECOMP_GEMM");
    fault(V9_14, "status:cudnnGetConvolutionForwardWorkspaceSize:2000")
        .must_have("NCHW, IMPLICIT_PRECOMP_GEMM");
}

/// An engine may write directly past its result without a fault: buffers are larger than requested.
#[test]
fn writing_directly_past_a_buffer_is_unknown() {
    for version in ALL {
        fault(version, "tile").must_have("unknown None");
    }
    fault(V9_14, "tile").must_be(
        "\"Simulated GPU\" unknown None
warning: cuDNN 9.14.0 wrote within 512 bytes past the end of its output buffer in a forward convolution in f32 on Simulated GPU  [convolution-wrong]
  = help: run the program under `compute-sanitizer` to see whether cuDNN writes past the program's own buffers
  operation   convolution forward, f32, NCHW, IMPLICIT_PRECOMP_GEMM
  shape       x 2x8x14x14, w 8x8x3x3, padding 1, stride 1
",
    );
    // Wrong numbers are reported anyway.
    fault(V9_14, "wrong-tile")
        .must_have(": error 2.5e-1 exceeds the limit of 1.2e-4  [convolution-wrong]");
}

#[test]
fn a_full_gpu_is_unknown() {
    // cuDNN is not called if there is no memory left: it would end the process.
    for version in ALL {
        let full = [
            ("SIM_MEMORY", "2097151"),
            ("SIM_FAULT", "abort:cudnnCreate"),
        ];
        convolve(version, &full).must_be(
            "\"Simulated GPU\" unknown None
warning: Simulated GPU has too little free memory to test a convolution: 1 MiB  [device-memory-low]
  = help: free memory on the GPU: `nvidia-smi` shows which processes use it
  cuDNN       not called: CUDA allocates memory in blocks of 2 MiB
",
        );
    }
    // A GPU that does not report its memory may have too little anyway.
    fault(V9_14, "status:cuMemGetInfo_v2:1").must_have("pass");
    convolve(V9_14, &[("SIM_MEMORY", "2097152")]).must_have("pass");
    fault(V9_14, "status:cuMemAlloc_v2:2").must_be(
        "\"Simulated GPU\" unknown None
warning: Simulated GPU has too little free memory to test a convolution  [device-memory-low]
  = help: free memory on the GPU: `nvidia-smi` shows which processes use it
  driver      `cuMemAlloc` returned CUDA_ERROR_OUT_OF_MEMORY (2)
",
    );
    // cuDNN's status does not name the lack of memory.
    let low = [
        ("SIM_MEMORY", "104857600"),
        ("SIM_FAULT", "status:cudnnCreate:4000"),
    ];
    convolve(V9_14, &low).must_be(
        "\"Simulated GPU\" unknown None
warning: Simulated GPU has too little free memory to test a convolution: 100 MiB  [device-memory-low]
  = help: free memory on the GPU: `nvidia-smi` shows which processes use it
  cuDNN       `cudnnCreate` returned CUDNN_STATUS_INTERNAL_ERROR (4000)
",
    );
    fault(V9_14, "status:cudnnConvolutionForward:4004").must_have("unknown None");
    fault(V8_9, "status:cudnnCreate:2").must_have("[device-memory-low]");
    // Little memory by itself is no obstacle.
    convolve(V9_14, &[("SIM_MEMORY", "104857600")]).must_have("pass");
}

#[test]
fn a_busy_gpu_is_unknown() {
    fault(V9_14, "status:cuDevicePrimaryCtxRetain:46").must_be(
        "\"Simulated GPU\" unknown None
warning: Simulated GPU could not be used for a convolution: the GPU is in exclusive use or unavailable  [device-busy]
  = help: wait for the other program, or see `nvidia-smi -q -d COMPUTE` for the compute mode
  driver      `cuDevicePrimaryCtxRetain` returned CUDA_ERROR_DEVICE_UNAVAILABLE (46)
",
    );
    for (code, name) in [
        ("4", "CUDA_ERROR_DEINITIALIZED (4)"),
        ("702", "CUDA_ERROR_LAUNCH_TIMEOUT (702)"),
        ("999", "CUDA_ERROR_UNKNOWN (999)"),
    ] {
        fault(V9_14, &format!("status:cuCtxSynchronize:{code}"))
            .must_have("unknown None")
            .must_have("[device-busy]")
            .must_have(name);
    }
}

const HARDWARE: &str = "\
214 | the GPU's memory has an error that cannot be corrected
220 | an NVLink of the GPU has an error that cannot be corrected
226 | the GPU has an error that affects only this process
304 | the system refused a request of NVIDIA's driver
";

#[test]
fn a_hardware_error_is_not_a_fault_of_cudnn() {
    for [code, words] in rows(HARDWARE) {
        fault(V9_14, &format!("status:cuCtxSynchronize:{code}"))
            .must_have("unknown None")
            .must_have(&format!("{words}  [driver-error]\n"))
            .must_have(&format!("({code})"));
    }
}

#[test]
fn a_crash_on_the_gpu_is_a_fault_of_cudnn() {
    fault(V9_14, "status:cuCtxSynchronize:700")
        .must_have("error: cuDNN 9.14.0 failed to compute a forward convolution in f32 on Simulated GPU: CUDA_ERROR_ILLEGAL_ADDRESS (700)  [convolution-failed]")
        .must_have("meaning     code on the GPU accessed invalid memory");
}

#[test]
fn a_flood_is_as_loud_as_it_says() {
    let ended = fault(V9_14, "flood");
    ended.must_have("pass");
    assert!(ended.printed.len() >= 16 << 20);
}

#[test]
fn a_missing_sub_library_ends_the_process_or_is_refused() {
    for part in ["graph", "ops", "cnn", "heuristic", "engines_precompiled"] {
        let ended = convolve_in(&without(V9_14, &[part]), V9_14, &[]);
        ended.must_end_by("abort");
        assert!(
            ended.printed.contains(&format!("cudnn_{part}")),
            "{}",
            ended.printed
        );
    }
    for part in ["cnn", "heuristic", "engines_precompiled"] {
        convolve_in(&without(V9_28, &[part]), V9_28, &[])
            .must_have("CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE (3009)")
            .must_have("= help: install every sub-library of that cuDNN version next to its `");
    }
    convolve_in(&without(V8_9, &["cnn_infer"]), V8_9, &[]).must_end_by("abort");
    // A sub-library that no convolution needs.
    convolve_in(&without(V9_14, &["adv"]), V9_14, &[]).must_have("pass");
}

#[test]
fn a_foreign_engine_is_found_only_by_the_convolution() {
    let tree = without(V9_14, &["heuristic", "adv"]);
    let part = file_name::of_part("heuristic", 9);
    let other = in_tree(&simulated((9, 10, 2)), &part);
    std::fs::copy(other, in_tree(&tree, &part)).unwrap();
    let ended = convolve_in(&tree, V9_14, &[]);
    ended
        .must_have("CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH (1002)")
        .must_have("last error  simulated: an engine part is of another release");
}
