//! Every operation in every format: valid ones pass, and every fault is found and named.

use crate::support::rows as table;
use crate::{Ended, V8_9, V9_14, V9_28, child, fault, libraries, simulated, without};
use cudnn_guard::internals::convolution::case::{self, Case};
use cudnn_guard::internals::convolution::cudnn_error::CudnnError;
use cudnn_guard::internals::convolution::failure::CaseFailure;
use cudnn_guard::internals::cudnn::shape::Layout;
use cudnn_guard::internals::facts::Version;
use cudnn_guard::internals::loader::file_name::of_part;
use std::path::Path;

/// The operations: in SIM_ONLY, in a sentence, in a report, and their function.
const OPERATIONS: &str = "\
forward | forward convolution | convolution forward | cudnnConvolutionForward
backward-data | backward data convolution | convolution backward data | cudnnConvolutionBackwardData
backward-filter | backward filter convolution | convolution backward filter | cudnnConvolutionBackwardFilter
fused | convolution with bias and ReLU | convolution bias ReLU | cudnnConvolutionBiasActivationForward
";
const TYPES: [&str; 4] = ["f32", "tf32", "f16", "bf16"];

/// Returns the first convolution, those of this operation and format, and those that differ from them in one of the
/// two.
pub fn some(operation: &str, data_type: &str) -> Vec<Case> {
    let mut operations = table::<4>(OPERATIONS).into_iter();
    let [_, _, name, _] = operations.find(|row| row[0] == operation).unwrap();
    let is = |case: &Case| {
        (
            case.operation.name() == name,
            case.data_type.name() == data_type,
        )
    };
    let all = case::thorough();
    let meant = all.iter().filter(|case| is(case) == (true, true));
    let near = all.iter().filter(|case| {
        let (same_operation, same_type) = is(case);
        same_operation != same_type && case.shape == case::SMALL && case.layout == Layout::Nhwc
    });
    let mut kinds = vec![case::FIRST];
    kinds.extend(meant.chain(near));
    kinds
}

#[track_caller]
pub fn tried(what: &str, version: (u32, u32, u32), environment: &[(&str, &str)]) -> Ended {
    tried_in(&simulated(version), what, version, environment)
}

#[track_caller]
pub fn tried_in(
    tree: &Path,
    what: &str,
    (major, minor, patch): (u32, u32, u32),
    environment: &[(&str, &str)],
) -> Ended {
    // The version follows the first word.
    let (task, rest) = what.split_once(' ').unwrap_or((what, ""));
    let task = format!("{task} {major} {minor} {patch} {rest}");
    child(&task, &libraries(tree), environment)
}

/// Returns the rows with these words.
pub fn rows<'a>(ended: &'a Ended, words: &str) -> Vec<&'a str> {
    let lines = ended.report.lines();
    lines
        .filter(|line| line.starts_with("convolution ") && line.contains(words))
        .collect()
}

#[test]
fn the_quick_check_tests_one_shape_in_each_format() {
    tried("quick", V8_9, &[]).must_be(
        "convolution forward, f32, NCHW, IMPLICIT_PRECOMP_GEMM: pass, tf32 Some(false)
convolution forward, tf32, NCHW, IMPLICIT_PRECOMP_GEMM: pass, tf32 Some(true)
convolution forward, f16, NCHW, IMPLICIT_PRECOMP_GEMM: pass, tf32 None
convolution forward, bf16, NCHW, IMPLICIT_PRECOMP_GEMM: pass, tf32 None
then creating the GPU context
then creating a handle
then setting up the forward convolution in f32 (NCHW)
then running the forward convolution in f32 (NCHW, IMPLICIT_PRECOMP_GEMM)
then setting up the forward convolution in tf32 (NCHW)
then running the forward convolution in tf32 (NCHW, IMPLICIT_PRECOMP_GEMM)
then setting up the forward convolution in f16 (NCHW)
then running the forward convolution in f16 (NCHW, IMPLICIT_PRECOMP_GEMM)
then setting up the forward convolution in bf16 (NCHW)
then running the forward convolution in bf16 (NCHW, IMPLICIT_PRECOMP_GEMM)
",
    );
}

#[test]
fn the_thorough_check_tests_everything() {
    for version in [V8_9, V9_28] {
        let ended = tried("thorough", version, &[]);
        assert_eq!(rows(&ended, "fail").len(), 0, "{}", ended.report);
        for [_, _, operation, _] in table(OPERATIONS) {
            for data_type in TYPES {
                for layout in ["NCHW", "NHWC"] {
                    let words = format!("{operation}, {data_type}, {layout}, ");
                    let rows = rows(&ended, &words);
                    assert!(!rows.is_empty(), "no {words:?} in\n{}", ended.report);
                    assert!(rows.iter().all(|row| row.contains(": pass")), "{rows:?}");
                }
            }
        }
        let graph = rows(&ended, " through the graph API, ").len();
        assert_eq!(graph, if version == V8_9 { 0 } else { 3 * 4 * 2 });
        assert_eq!(rows(&ended, "").len() - graph, 1 + 4 * 4 * 3);
    }
}

/// A format that is wrong in only one version. NUM-04: a result of zeros, or one that was never written,
/// although cuDNN reports success.
#[test]
fn every_fault_is_found_in_every_operation_and_format() {
    for [operation, words, name, _] in table(OPERATIONS) {
        for data_type in TYPES {
            let only = format!("{operation} {data_type}");
            for (fault, say) in [
                ("wrong", ": error "),
                ("shifted", ": error "),
                ("nan", ": a result is not a number"),
                ("zero", ": every number is 0"),
                ("unwritten", ": nothing was written"),
                ("overrun", "wrote past the end of its "),
            ] {
                let set = [("SIM_FAULT", fault), ("SIM_ONLY", &only)];
                let ended = tried(&format!("some {only}"), V9_14, &set);
                ended
                    .must_have(&format!("{words} in {data_type} on Simulated GPU"))
                    .must_have(say)
                    .must_have("[convolution-wrong]")
                    .must_have(&format!("  operation   {name}, {data_type}, NCHW, "));
                if ["wrong", "nan"].contains(&fault) {
                    ended.must_have("\n  wrong       1 of ");
                }
                // No other convolution fails, and after three failures the test stops.
                let blamed = format!("{name}, {data_type}, ");
                let failed = rows(&ended, ": fail");
                assert_eq!(failed.len(), 3, "{only} {fault}: {failed:?}");
                assert!(
                    failed.iter().all(|row| row.starts_with(&blamed)),
                    "{failed:?}"
                );
            }
        }
    }
}

/// F16 results of 8 bits, which small whole numbers do not detect.
#[test]
fn the_thorough_check_finds_results_with_too_few_bits() {
    for [operation, words, _, _] in table(OPERATIONS) {
        let only = format!("{operation} f16");
        let set = [("SIM_FAULT", "short"), ("SIM_ONLY", &only)];
        let ended = tried("thorough", V9_14, &set);
        ended.must_have(&format!(
            "error: cuDNN 9.14.0 computed a wrong {words} in f16 on Simulated GPU: every number is rounded to the 8 bits of bf16  [convolution-wrong]"
        ));
        assert_eq!(rows(&ended, ": fail").len(), 1, "{}", ended.report);
    }
    for operation in ["forward", "backward data", "backward filter"] {
        let only = format!("graph {} f16", operation.replace(' ', "-"));
        let set = [("SIM_FAULT", "short"), ("SIM_ONLY", &only)];
        let ended = tried("thorough", V9_14, &set);
        ended.must_have(&format!("{operation} convolution in f16 through the graph API on Simulated GPU: every number is rounded to the 8 bits of bf16"));
        assert_eq!(rows(&ended, ": fail").len(), 1, "{}", ended.report);
    }
    // An engine may store its partial sums in the format.
    let ended = tried("thorough", V9_14, &[("SIM_PARTIAL", "1")]);
    assert_eq!(rows(&ended, ": fail").len(), 0, "{}", ended.report);
    assert_eq!(rows(&ended, ": pass").len(), rows(&ended, "").len());
}

/// In the first convolution a refusal is a fault. In others it is reported while the first one is computed.
#[test]
#[ignore = "48 programs: eight seconds of a core"]
fn every_refusal_is_named_in_every_operation_and_format() {
    for [operation, _, name, call] in table(OPERATIONS) {
        for data_type in TYPES {
            let only = format!("{operation} {data_type}");
            for (version, status, named) in [
                (V9_14, 4000, "CUDNN_STATUS_INTERNAL_ERROR (4000)"),
                (V9_14, 5003, "CUDNN_STATUS_EXECUTION_FAILED_CUDART (5003)"),
                (V8_9, 8, "CUDNN_STATUS_EXECUTION_FAILED (8)"),
            ] {
                let fault = format!("status:{call}:{status}");
                let set = [("SIM_FAULT", &fault[..]), ("SIM_ONLY", &only)];
                let release = if version == V8_9 { "8.9.7" } else { "9.14.0" };
                let ended = tried(&format!("some {only}"), version, &set);
                if only == "forward f32" {
                    ended
                        .must_have(&format!(
                            "`{call}` of cuDNN {release} returned {named} on Simulated GPU  [convolution-failed]"
                        ))
                        .must_have(&format!("  operation   {name}, {data_type}, NCHW, "));
                    assert_eq!(rows(&ended, ": fail").len(), 3, "{}", ended.report);
                } else {
                    let left_out = format!("left out, `{call}` returned {named}");
                    let what = format!("{name}, {data_type}, ");
                    let all = rows(&ended, &left_out);
                    assert!(all.len() >= 2 && all.iter().all(|row| row.starts_with(&what)));
                    assert_eq!(rows(&ended, ": fail").len(), 0, "{}", ended.report);
                }
            }
            // Incompatible sub-libraries are found by any convolution.
            for (version, status) in [(V9_14, 1002), (V9_14, 1008), (V9_14, 3009), (V8_9, 14)] {
                let fault = format!("status:{call}:{status}");
                let set = [("SIM_FAULT", &fault[..]), ("SIM_ONLY", &only)];
                tried(&format!("some {only}"), version, &set)
                    .must_have(&format!(
                        "({status}) on Simulated GPU  [convolution-failed]"
                    ))
                    .must_have(&format!("  operation   {name}, {data_type}, NCHW, "));
            }
            // A lack of memory is not a fault.
            for (version, status, named) in [
                (
                    V9_14,
                    4004,
                    "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED (4004)",
                ),
                (V8_9, 2, "CUDNN_STATUS_ALLOC_FAILED (2)"),
            ] {
                let fault = format!("status:{call}:{status}");
                let set = [("SIM_FAULT", &fault[..]), ("SIM_ONLY", &only)];
                let ended = tried(&format!("some {only}"), version, &set);
                ended
                    .must_have("Simulated GPU has too little free memory to test a convolution  [device-memory-low]")
                    .must_have(&format!("  cuDNN       `{call}` returned {named}\n"));
                assert_eq!(rows(&ended, ": fail").len(), 0);
                let unknown = rows(&ended, ": unknown");
                assert_eq!(unknown.len(), 1);
                assert!(unknown[0].starts_with(&format!("{name}, {data_type}, NCHW, ")));
            }
        }
    }
}

#[test]
fn an_unsupported_format_is_left_out() {
    let old = [("SIM_CAPABILITY", "7.5")];
    let ended = tried("quick", V9_14, &old);
    ended.must_have(
        "convolution forward, bf16, NCHW, : left out, bf16 requires compute capability 8.0, but the GPU has 7.5\n",
    );
    assert_eq!(rows(&ended, ": pass").len(), 3 + 2);
    tried("quick", V9_14, &[("SIM_CAPABILITY", "5.2")]).must_have(
        "f16, NCHW, : left out, f16 requires compute capability 5.3, but the GPU has 5.2",
    );
    // Or cuDNN itself says so, at any of its calls.
    let ended = tried("quick", V8_9, &[("SIM_LACKS", "f16 tf32")]);
    ended.must_have(
        "f16, NCHW, IMPLICIT_PRECOMP_GEMM: left out, `cudnnGetConvolutionForwardWorkspaceSize` returned CUDNN_STATUS_NOT_SUPPORTED (9)\n",
    );
    assert_eq!(rows(&ended, ": pass").len(), 2);
    for [status, version] in [
        ["3000", "9"],
        ["3007", "9"],
        ["6", "8"],
        ["3", "8"],
        ["2000", "9"],
    ] {
        let version = if version == "8" { V8_9 } else { V9_28 };
        let fault = format!("status:cudnnConvolutionForward:{status}");
        let set = [("SIM_FAULT", &fault[..]), ("SIM_ONLY", "forward bf16")];
        let ended = tried("quick", version, &set);
        assert_eq!(rows(&ended, "left out, `cudnnConvolutionForward`").len(), 1);
        let graph = if version == V8_9 { 0 } else { 2 };
        assert_eq!(rows(&ended, ": pass").len(), 3 + graph, "{}", ended.report);
    }
    // Every cuDNN supports the first convolution, so there it is a fault.
    let set = [
        ("SIM_FAULT", "status:cudnnConvolutionForward:3000"),
        ("SIM_ONLY", "forward f32"),
    ];
    let ended = tried("quick", V9_28, &set);
    ended.must_have("returned CUDNN_STATUS_NOT_SUPPORTED (3000) on Simulated GPU");
    assert_eq!(rows(&ended, ": fail").len(), 1);
}

#[test]
fn training_sub_libraries_may_be_missing() {
    let ended = tried_in(&without(V8_9, &["cnn_train"]), "thorough", V8_9, &[]);
    let words = format!("left out, {} is missing", of_part("cnn_train", 8));
    let left_out = rows(&ended, &words);
    assert_eq!(left_out.len(), 4 * 3, "{}", ended.report);
    assert!(
        left_out
            .iter()
            .all(|row| row.starts_with("convolution backward filter, "))
    );
    assert_eq!(rows(&ended, ": fail").len(), 0);
}

/// TF32 passes and is reported where it is allowed. Where it is not allowed, it is also reported, but stops
/// nothing, since the user of the program may have requested it.
#[test]
fn tf32_is_reported() {
    let off = tried("quick", V9_14, &[("SIM_TF32", "never")]);
    off.must_have("tf32, NCHW, IMPLICIT_PRECOMP_GEMM: pass, tf32 Some(false)");
    let always = tried("quick", V9_14, &[("SIM_TF32", "always")]);
    always
        .must_have("convolution forward, f32, NCHW, IMPLICIT_PRECOMP_GEMM: unknown, tf32 Some(true)")
        .must_have("warning: cuDNN 9.14.0 rounds single precision to TF32 on Simulated GPU, although TF32 is disabled  [convolution-wrong]\n  = help: set NVIDIA_TF32_OVERRIDE=0 for full single precision\n")
        .must_have("  largest     error ");
    assert_eq!(rows(&always, ": pass").len(), 3 + 1);
    // An engine may round only a part of its work.
    tried("quick", V9_14, &[("SIM_TF32", "some")])
        .must_have("rounds single precision to TF32 on Simulated GPU, although TF32 is disabled");
    // The operator's choice is not a fault of cuDNN.
    let set = [("SIM_TF32", "always"), ("NVIDIA_TF32_OVERRIDE", "1")];
    let chosen = tried("quick", V9_14, &set);
    chosen
        .must_have("convolution forward, f32, NCHW, IMPLICIT_PRECOMP_GEMM: pass, tf32 Some(true)")
        .must_have("note: cuDNN 9.14.0 rounds single precision to TF32 on Simulated GPU, as NVIDIA_TF32_OVERRIDE=1 requests  [convolution-wrong]\n");
    assert_eq!(rows(&chosen, ": pass").len(), 4 + 1);
    // A single wrong number is not rounding, however small the difference is.
    fault(V9_14, "wrong").must_have("fail");
}

#[test]
fn an_error_of_the_gpu_stops_the_remaining_tests() {
    let crash = tried(
        "thorough",
        V9_14,
        &[("SIM_FAULT", "status:cuCtxSynchronize:700")],
    );
    crash.must_have(
        "cuDNN 9.14.0 failed to compute a forward convolution in f32 on Simulated GPU: ",
    );
    assert_eq!(rows(&crash, "").len(), 1);
    let full = tried("thorough", V9_14, &[("SIM_MEMORY", "4000")]);
    full.must_have("[device-memory-low]");
    assert_eq!(rows(&full, "").len(), 1);
}

/// The statuses of cuDNN after a failure of the GPU say nothing about what it supports.
#[test]
fn an_error_of_the_gpu_is_not_left_out() {
    let refused = |gpu| {
        CaseFailure::Cudnn(CudnnError {
            call: "cudnnConvolutionForward",
            status: 3000,
            algorithm: None,
            last_error: String::new(),
            gpu,
            memory: None,
        })
    };
    let version = Version::new(9, 14, 0);
    assert_eq!(refused(Some(700)).left_out(version, false), None);
    assert_eq!(
        refused(None).left_out(version, true).as_deref(),
        Some("`cudnnConvolutionForward` returned CUDNN_STATUS_NOT_SUPPORTED (3000)")
    );
}
