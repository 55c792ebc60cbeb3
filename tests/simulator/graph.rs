//! The graph API: valid engines pass, engines that refuse are skipped, and every fault is found and named.

use super::kinds::{rows, tried, tried_in};
use crate::{Ended, V8_9, V9_14, V9_28, without};
use cudnn_guard::internals::system::platform;

const OPERATIONS: [(&str, &str); 3] = [
    ("forward", "forward"),
    ("backward-data", "backward data"),
    ("backward-filter", "backward filter"),
];
const TYPES: [&str; 4] = ["f16", "f32", "tf32", "bf16"];

/// Runs every kind of convolution through the graph API, with this fault in one of them.
#[track_caller]
fn fault(fault: &str, only: &str) -> Ended {
    let set = [("SIM_FAULT", fault), ("SIM_ONLY", only)];
    tried("graph", V9_14, &set)
}

#[track_caller]
fn plans(plans: &str) -> Ended {
    tried("quick", V9_28, &[("SIM_PLANS", plans)])
}

#[test]
fn the_quick_check_tests_two_formats_with_the_graph_api() {
    for version in [V9_14, V9_28] {
        tried("quick", version, &[])
            .must_have(
                "convolution forward, bf16, NCHW, IMPLICIT_PRECOMP_GEMM: pass, tf32 None
convolution forward through the graph API, f16, NHWC, engine 38: pass, tf32 None
convolution forward through the graph API, f32, NHWC, engine 1: pass, tf32 Some(false)
then creating the GPU context
then creating",
            )
            .must_have(
                "then requesting engines for the forward convolution in f16 through the graph API (NHWC)
then preparing engine 38 for the forward convolution in f16 through the graph API (NHWC)
then running the forward convolution in f16 through the graph API (NHWC, engine 38)
",
            );
    }
    let ended = tried("quick", V8_9, &[]);
    assert_eq!(rows(&ended, "graph").len(), 0, "{}", ended.report);
}

/// Compiling an engine takes seconds, at every start of a program.
#[test]
fn the_quick_check_prefers_engines_that_need_no_compilation() {
    let compiles = [("SIM_COMPILES", "38")];
    tried("quick", V9_14, &compiles).must_have("graph API, f16, NHWC, engine 1: pass");
    tried("thorough", V9_14, &compiles).must_have("graph API, f16, NHWC, engine 38: pass");
    // An engine that has to be compiled is better than none.
    let alone = [compiles[0], ("SIM_PLANS", "1=3000")];
    tried("quick", V9_14, &alone).must_have("graph API, f16, NHWC, engine 38: pass");
}

#[test]
fn every_operation_is_tested_in_every_format() {
    let ended = tried("graph", V9_28, &[]);
    for (_, operation) in OPERATIONS {
        for data_type in TYPES {
            // Strict single precision gets the engine that does not round.
            let (engine, tf32) = match data_type {
                "f32" => (1, "Some(false)"),
                "tf32" => (38, "Some(true)"),
                _ => (38, "None"),
            };
            ended.must_have(&format!(
                "convolution {operation} through the graph API, {data_type}, NHWC, engine {engine}: pass, tf32 {tf32}\n"
            ));
        }
    }
    assert_eq!(rows(&ended, "").len(), 24, "{}", ended.report);
}

#[test]
#[ignore = "72 programs: ten seconds of a core"]
fn every_fault_is_found_in_every_operation_and_format() {
    for (operation, words) in OPERATIONS {
        for data_type in TYPES {
            for (name, expected) in [
                ("wrong", ": error "),
                ("shifted", ": error "),
                ("nan", ": a result is not a number"),
                ("unwritten", ": nothing was written"),
                ("zero", ": every number is 0"),
                ("overrun", "wrote past the end of its "),
            ] {
                let ended = fault(name, &format!("graph {operation} {data_type}"));
                ended
                    .must_have(expected)
                    .must_have("[convolution-wrong]")
                    .must_have(&format!(
                        "{words} convolution in {data_type} through the graph API"
                    ))
                    .must_have(&format!(
                        "  operation   convolution {words}, {data_type}, NHWC, engine "
                    ));
                assert_eq!(rows(&ended, ": fail").len(), 2, "{}", ended.report);
                assert_eq!(rows(&ended, ": pass").len(), 22, "{}", ended.report);
            }
        }
    }
    fault("wrong", "graph forward f16").must_have(
        "error: cuDNN 9.14.0 computed a wrong forward convolution in f16 through the graph API on Simulated GPU: error 3.0e0 exceeds the limit of 2.5e-1  [convolution-wrong]
  = help: install compatible versions of cuDNN, CUDA and the driver: `cudnn-guard doctor` shows the installed ones
  = help: run the program on another GPU if these versions are compatible: `nvidia-smi -q -d ECC` shows memory errors of this GPU
  operation   convolution forward, f16, NHWC, engine 38
  shape       x 2x8x8x8, w 8x8x3x3, padding 1, stride 1
",
    );
}

/// Faults of the graph API are found even if the legacy API computes correctly.
#[test]
fn refusals_by_the_graph_api_alone_are_found() {
    let ended = plans("38=1002 1=1002 0=1002");
    ended.must_have(&format!(
        "error: `cudnnBackendFinalize(EXECUTION_PLAN)` of cuDNN 9.28.0 returned CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH (1002) on Simulated GPU  [convolution-failed]
  = help: install all sub-libraries of one cuDNN version in one directory, with no other cuDNN before it in {}
  operation   convolution forward, f16, NHWC, engine 38
  shape       x 2x8x8x8, w 8x8x3x3, padding 1, stride 1
  last error  simulated: the plan is set to fail
",
        platform::LIBRARY_PATH
    ));
    assert_eq!(rows(&ended, ": pass").len(), 4, "{}", ended.report);
    assert_eq!(rows(&ended, ": fail").len(), 2, "{}", ended.report);
    // A missing sub-library fails at the first descriptor.
    let set = [("SIM_FAULT", "status:cudnnBackendFinalize(TENSOR):1008")];
    tried("quick", V9_14, &set)
        .must_have("`cudnnBackendFinalize(TENSOR)` of cuDNN 9.14.0 returned CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED (1008)")
        .must_have("help: install every sub-library of that cuDNN version next to its `");
    // A fault among refusals counts, whatever its position.
    plans("38=3000 1=4000 0=3000")
        .must_have("warning: `cudnnBackendFinalize(EXECUTION_PLAN)` of cuDNN 9.28.0 returned CUDNN_STATUS_INTERNAL_ERROR (4000)")
        .must_have("  operation   convolution forward, f16, NHWC, engine 1\n");
    plans("38=4000 1=3009 0=4000").must_have("error: `cudnnBackendFinalize(EXECUTION_PLAN)` of cuDNN 9.28.0 returned CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE (3009)");
}

/// A status that may have other reasons counts if the legacy API does not compute in the format either.
#[test]
fn a_refusal_by_both_apis_is_a_failure() {
    for (variable, plan) in [
        ("SIM_PLANS", "38=4001 1=4001 0=4001"),
        ("SIM_EXECUTE", "38=5000 1=5000 0=5000"),
    ] {
        let ended = tried("quick", V9_28, &[(variable, plan)]);
        assert_eq!(rows(&ended, ": fail").len(), 0, "{}", ended.report);
        assert_eq!(rows(&ended, ": unknown").len(), 2, "{}", ended.report);
        let legacy = [
            (variable, plan),
            ("SIM_FAULT", "status:cudnnConvolutionForward:4000"),
            ("SIM_ONLY", "forward f16"),
        ];
        let ended = tried("quick", V9_28, &legacy);
        let failed = rows(&ended, ": fail");
        assert_eq!(failed.len(), 1, "{}", ended.report);
        assert!(failed[0].starts_with("convolution forward through the graph API, f16"));
        assert_eq!(rows(&ended, ": unknown").len(), 1, "{}", ended.report);
    }
    // Rounding is not a refusal.
    let rounds = [
        ("SIM_TF32", "always"),
        ("SIM_PLANS", "38=4001 1=4001 0=4001"),
    ];
    let ended = tried("quick", V9_28, &rounds);
    assert_eq!(rows(&ended, ": fail").len(), 0, "{}", ended.report);
}

/// An engine that fails to compute is skipped, like one that fails before.
#[test]
fn an_engine_that_fails_to_compute_is_skipped() {
    for status in [5000, 4000, 3007, 1002, 1] {
        let plan = format!("38={}", if status == 1 { 2000 } else { status });
        let ended = tried("quick", V9_28, &[("SIM_EXECUTE", &plan)]);
        ended.must_have("f16, NHWC, engine 1: pass");
        assert_eq!(rows(&ended, ": pass").len(), 6, "{}", ended.report);
    }
    // A failure of the GPU is not that of an engine.
    let set = [("SIM_FAULT", "status:cuCtxSynchronize:700")];
    assert_eq!(rows(&tried("graph", V9_28, &set), ": fail").len(), 1);
}

/// Wrong numbers are a failure, and the report names the engine.
#[test]
fn wrong_numbers_name_the_engine() {
    let wrong = |engines| tried("quick", V9_28, &[("SIM_EXECUTE", engines)]);
    let by = |engine| format!("  operation   convolution forward, f16, NHWC, engine {engine}\n");
    wrong("38=1").must_have(&by(38));
    wrong("38=4000 1=1").must_have(&by(1));
}

#[test]
fn an_engine_that_refuses_is_skipped() {
    for status in [3000, 3007, 3008, 4000, 1008, 1] {
        let ended = plans(&format!("38={status}"));
        ended.must_have("f16, NHWC, engine 1: pass");
        assert_eq!(rows(&ended, ": pass").len(), 6, "{}", ended.report);
    }
    // The fallback engines are queried if no fast engine supports the convolution.
    plans("38=3000 1=3000")
        .must_have("f16, NHWC, engine 0: pass")
        .must_have("f32, NHWC, engine 0: pass");
    let set = [("SIM_FAULT", "status:cudnnBackendExecute:3000")];
    let ended = tried("quick", V9_14, &set);
    assert_eq!(
        rows(&ended, "graph API, f16, NHWC, engine 38: left out").len(),
        1
    );
}

#[test]
fn a_convolution_that_every_engine_refuses_is_left_out() {
    let ended = plans("38=3000 1=3000 0=3000");
    ended.must_have(
        "graph API, f16, NHWC, engine 38: left out, `cudnnBackendFinalize(EXECUTION_PLAN)` returned CUDNN_STATUS_NOT_SUPPORTED (3000)\n",
    );
    assert_eq!(rows(&ended, ": pass").len(), 4, "{}", ended.report);
    plans("38=1 1=1 0=1").must_have("engine 38: left out, cuDNN requires 1024 MiB of workspace\n");
    tried("quick", V9_14, &[("SIM_ENGINES", "none")])
        .must_have("graph API, f16, NHWC, : left out, cuDNN offers no engine for it\n");
    let rounded = tried("quick", V9_14, &[("SIM_TF32", "always")]);
    rounded.must_have("graph API, f32, NHWC, : left out, engine 38 rounds single precision\n");
    let old = tried("graph", V9_14, &[("SIM_CAPABILITY", "7.5")]);
    assert_eq!(
        rows(
            &old,
            "bf16, NHWC, : left out, bf16 requires compute capability 8.0, but the GPU has 7.5"
        )
        .len(),
        6
    );
}

/// A program that uses a graph may have an alternative, so an unknown reason stops nothing.
#[test]
fn a_refusal_for_an_unknown_reason_is_unknown() {
    let ended = plans("38=3008 1=3008 0=3008");
    ended
        .must_have("warning: `cudnnBackendFinalize(EXECUTION_PLAN)` of cuDNN 9.28.0 returned CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING (3008)")
        .must_have("  = help: install the libraries that cuDNN opens at run time (cuBLAS, NVRTC)");
    assert_eq!(rows(&ended, ": unknown").len(), 2, "{}", ended.report);
    assert_eq!(rows(&ended, ": fail").len(), 0, "{}", ended.report);
    plans("38=4004 1=4004 0=4004").must_have("[device-memory-low]");
}

#[test]
fn a_failure_of_every_engine_counts_if_there_is_no_other_api() {
    for status in ["5000", "4000", "1001"] {
        let call = format!("status:cudnnBackendExecute:{status}");
        let ended = fault(&call, "graph backward-data f16");
        ended
            .must_have("error: `cudnnBackendExecute` of cuDNN 9.14.0 returned CUDNN_STATUS_")
            .must_have("  operation   convolution backward data, f16, NHWC, engine 38\n");
        assert_eq!(rows(&ended, ": fail").len(), 2, "{}", ended.report);
    }
    let crash = tried(
        "graph",
        V9_14,
        &[("SIM_FAULT", "status:cuCtxSynchronize:700")],
    );
    crash.must_have(
        "cuDNN 9.14.0 failed to compute a forward convolution in f16 through the graph API on Simulated GPU: ",
    );
    assert_eq!(rows(&crash, "").len(), 1);
}

#[test]
fn every_refusal_is_named_in_every_operation_and_format() {
    for (operation, words) in OPERATIONS {
        for data_type in TYPES {
            let only = format!("graph {operation} {data_type}");
            if data_type == "tf32" {
                // The simulator's other engine does not round, so SIM_ONLY counts it as another format.
                let ended = fault("status:cudnnBackendExecute:4000", &only);
                assert_eq!(rows(&ended, ": pass").len(), 24, "{}", ended.report);
                continue;
            }
            for (status, named) in [
                (4000, "CUDNN_STATUS_INTERNAL_ERROR (4000)"),
                (5003, "CUDNN_STATUS_EXECUTION_FAILED_CUDART (5003)"),
            ] {
                let ended = fault(&format!("status:cudnnBackendExecute:{status}"), &only);
                ended
                    .must_have(&format!(
                        "`cudnnBackendExecute` of cuDNN 9.14.0 returned {named} on Simulated GPU  [convolution-failed]"
                    ))
                    .must_have(&format!(
                        "  operation   convolution {words}, {data_type}, NHWC, engine "
                    ));
                assert_eq!(rows(&ended, ": fail").len(), 2, "{}", ended.report);
                assert_eq!(rows(&ended, ": pass").len(), 22, "{}", ended.report);
            }
            // A lack of memory is not a fault.
            let ended = fault("status:cudnnBackendExecute:4004", &only);
            ended.must_have("[device-memory-low]");
            assert_eq!(rows(&ended, ": fail").len(), 0, "{}", ended.report);
            let unknown = rows(&ended, ": unknown");
            assert_eq!(unknown.len(), 1, "{}", ended.report);
            let what = format!("convolution {words} through the graph API, {data_type}, NHWC, ");
            assert!(unknown[0].starts_with(&what), "{unknown:?}");
        }
    }
}

/// A cuDNN as shipped for `CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY` computes only through the graph API.
#[test]
fn a_cudnn_with_only_the_graph_api_is_tested() {
    let all = ["ops", "cnn", "adv", "heuristic", "engines_precompiled"];
    let set = [("CUDNN_LIB_CONFIG", "GRAPH_JIT_ONLY")];
    let ended = tried_in(&without(V9_14, &all), "graph", V9_14, &set);
    assert_eq!(rows(&ended, "graph API").len(), 24, "{}", ended.report);
    assert_eq!(rows(&ended, ": pass").len(), 24, "{}", ended.report);
}
