//! The table of crashes and hangs: each operation, format and API.

use crate::support::circumstances::do_all;
use crate::support::rows;
use serde_json::{Value, json};
use std::sync::Mutex;

/// The deadlines for a hang, in order: a busy machine takes longer to reach the call.
const PATIENCE: [u32; 3] = [2, 8, 32];

/// The operations: in SIM_ONLY, in a sentence, the function that implements it, and the algorithm under test.
const LEGACY: &str = "\
forward | forward convolution | cudnnConvolutionForward | IMPLICIT_PRECOMP_GEMM
backward-data | backward data convolution | cudnnConvolutionBackwardData | ALGO_1
backward-filter | backward filter convolution | cudnnConvolutionBackwardFilter | ALGO_1
fused | convolution with bias and ReLU | cudnnConvolutionBiasActivationForward | IMPLICIT_PRECOMP_GEMM
";
const TYPES: [&str; 4] = ["f32", "tf32", "f16", "bf16"];

/// A fault in one convolution, and the description of that step in the report.
pub struct Planted {
    fault: String,
    only: String,
    doing: String,
}

impl Planted {
    fn new(how: &str, call: &str, only: &str, doing: &str) -> Self {
        Self {
            fault: format!("{how}:{call}"),
            only: only.to_string(),
            doing: doing.to_string(),
        }
    }

    fn tried(&self, seconds: u32) -> Value {
        let seconds = seconds.to_string();
        let mut variables = vec![
            ("SIM_FAULT", &self.fault[..]),
            ("SIM_ONLY", &self.only),
            ("CUDNN_GUARD_DEADLINE", &seconds),
        ];
        // The legacy API is skipped here: its tests are separate, and take longer.
        if self.only.starts_with("graph ") {
            variables.push(("CUDNN_LIB_CONFIG", "GRAPH_JIT_ONLY"));
        }
        let ran = do_all(&["thorough"], &variables).exits_with(0);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.text()))
    }

    /// Returns the verdict and the complete finding behind it, or `None` if the deadline passed before the fault.
    fn first_finding(&self, seconds: u32) -> Option<(String, Value)> {
        let json = self.tried(seconds);
        let mut findings = json["findings"].as_array().unwrap().clone();
        let first = findings.remove(0);
        assert!(findings.iter().all(|it| it["severity"] == "warning"));
        let rows = json["convolution"].as_array().unwrap();
        assert!(rows.iter().all(|row| row["verdict"] == "pass"), "{rows:?}");
        let early =
            first["id"] == "convolution-timeout" && first["summary"] != self.late().as_str();
        let verdict = json["verdict"].as_str().unwrap().to_string();
        (!early).then_some((verdict, first))
    }

    fn late(&self) -> String {
        let doing = &self.doing;
        format!("the test process timed out while {doing}")
    }

    fn check_report(&self) {
        let (how, call) = self.fault.split_once(':').unwrap();
        let aborted = |signal: &str, evidence: Value| {
            let doing = &self.doing;
            json!({
                "id": "cudnn-aborted",
                "severity": "error",
                "summary": format!("cuDNN crashed the test process ({signal}) while {doing}"),
                "evidence": evidence,
                "help": ["reinstall this version of cuDNN, or install another version"],
            })
        };
        let call = call.split('(').next().unwrap();
        let (verdict, finding) = match how {
            "abort" => {
                let evidence = json!({ "output": format!("simulated: giving up in {call}") });
                ("fail", aborted("SIGABRT", evidence))
            }
            "segv" => ("fail", aborted("SIGSEGV", json!({}))),
            _ => (
                "unknown",
                json!({
                    "id": "convolution-timeout",
                    "severity": "warning",
                    "summary": self.late(),
                    "evidence": {},
                    "help": ["set CUDNN_GUARD_DEADLINE to more seconds if this machine is slow"],
                }),
            ),
        };
        // A crash is reported at once; a hang takes as long as its deadline.
        let patience = if how == "hang" { &PATIENCE[..] } else { &[60] };
        let reported = patience
            .iter()
            .find_map(|seconds| self.first_finding(*seconds));
        let (only, fault) = (&self.only, &self.fault);
        let reported = reported.unwrap_or_else(|| panic!("{only} {fault}: late"));
        assert_eq!(reported, (verdict.to_string(), finding), "{only} {fault}");
    }
}

/// Checks all reports, a few at a time, since the programs mostly wait.
pub fn check_all_reports(planted: Vec<Planted>) {
    let rest = Mutex::new(planted);
    let next = || rest.lock().unwrap().pop();
    std::thread::scope(|threads| {
        for _ in 0..6 {
            threads.spawn(|| {
                while let Some(planted) = next() {
                    planted.check_report();
                }
            });
        }
    });
    assert!(next().is_none());
}

/// Returns the faults in the legacy API, which every cuDNN has.
pub fn legacy() -> Vec<Planted> {
    let mut planted = Vec::new();
    for [name, words, call, algorithm] in rows(LEGACY) {
        for data_type in TYPES {
            for (how, layout) in [("abort", "NCHW"), ("segv", "NHWC"), ("hang", "NHWC")] {
                let only = format!("{name} {data_type} {layout}");
                let doing = format!("running the {words} in {data_type} ({layout}, {algorithm})");
                planted.push(Planted::new(how, call, &only, &doing));
            }
        }
    }
    assert_eq!(planted.len(), 4 * 4 * 3);
    planted
}

/// Returns the faults in executing and preparing graphs.
pub fn graph() -> Vec<Planted> {
    let mut planted = Vec::new();
    let (execute, plan) = (
        "cudnnBackendExecute",
        "cudnnBackendFinalize(EXECUTION_PLAN)",
    );
    for [name, words, _, _] in &rows(LEGACY)[..3] {
        for data_type in TYPES {
            // Strict single precision selects the engine that does not round.
            let engine = if data_type == "f32" { 1 } else { 38 };
            let only = format!("graph {name} {data_type} NHWC");
            let what = format!("the {words} in {data_type} through the graph API");
            let running = format!("running {what} (NHWC, engine {engine})");
            let making = format!("preparing engine {engine} for {what} (NHWC)");
            planted.push(Planted::new("abort", execute, &only, &running));
            planted.push(Planted::new("segv", plan, &only, &making));
            planted.push(Planted::new("hang", plan, &only, &making));
            planted.push(Planted::new("hang", execute, &only, &running));
        }
    }
    assert_eq!(planted.len(), 3 * 4 * 4);
    planted
}

/// Returns the faults before an algorithm is chosen.
pub fn on_the_way() -> Vec<Planted> {
    let (f32, f16) = ("(NCHW)", "f16 through the graph API (NHWC)");
    vec![
        Planted::new("abort", "cudnnCreate", "", "creating a handle"),
        Planted::new(
            "abort",
            "cudnnSetConvolution2dDescriptor",
            "",
            &format!("setting up the forward convolution in f32 {f32}"),
        ),
        Planted::new(
            "hang",
            "cudnnCreateActivationDescriptor",
            "",
            &format!("setting up the convolution with bias and ReLU in f32 {f32}"),
        ),
        Planted::new(
            "segv",
            "cudnnGetConvolutionForwardAlgorithm_v7",
            "",
            &format!("requesting algorithms for the forward convolution in f32 {f32}"),
        ),
        Planted::new(
            "hang",
            "cudnnBackendFinalize(ENGINEHEUR)",
            "",
            &format!("requesting engines for the forward convolution in {f16}"),
        ),
    ]
}
