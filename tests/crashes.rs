//! Crashes and hangs of cuDNN, in whole programs on the simulator: in each operation, format and interface the report
//! says by what, and what was being tried.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    reason = "tests make files and run programs"
)]

mod support;

use serde_json::{Value, json};
use std::sync::Mutex;
use support::circumstances::{circumstances, do_all, installed};
use support::fresh;

/// Its name in SIM_ONLY, in a sentence, the function behind it, and by which algorithm it is tried.
type Operation = (&'static str, &'static str, &'static str, &'static str);

const LEGACY: [Operation; 4] = [
    (
        "forward",
        "forward convolution",
        "cudnnConvolutionForward",
        "IMPLICIT_PRECOMP_GEMM",
    ),
    (
        "backward-data",
        "backward data convolution",
        "cudnnConvolutionBackwardData",
        "ALGO_1",
    ),
    (
        "backward-filter",
        "backward filter convolution",
        "cudnnConvolutionBackwardFilter",
        "ALGO_1",
    ),
    (
        "fused",
        "convolution with bias and ReLU",
        "cudnnConvolutionBiasActivationForward",
        "IMPLICIT_PRECOMP_GEMM",
    ),
];
const TYPES: [&str; 4] = ["f32", "tf32", "f16", "bf16"];

/// A fault in one convolution, and what the guard is doing then.
struct Planted {
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
        // Nothing but the graph is tried then: the rest has its own test, and takes longer.
        if self.only.starts_with("graph ") {
            variables.push(("CUDNN_LIB_CONFIG", "GRAPH_JIT_ONLY"));
        }
        let ran = do_all(&["thorough"], &variables).exits_with(0);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.text()))
    }

    /// The verdict, and the finding that it rests on, whole. `None` where it is late before it has come to the fault.
    fn told(&self, seconds: u32) -> Option<(String, Value)> {
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
        format!("the child process that tries cuDNN was still {doing} when its time was over")
    }

    fn must_be_told(&self) {
        let (how, call) = self.fault.split_once(':').unwrap();
        let aborted = |signal: &str, evidence: Value| {
            let doing = &self.doing;
            json!({
                "id": "cudnn-aborted",
                "severity": "error",
                "summary": format!("cuDNN ended the process that tried it with {signal} while {doing}"),
                "evidence": evidence,
                "help": ["install the same release of cuDNN again, whole, or another one"],
            })
        };
        let call = call.split('(').next().unwrap();
        let (verdict, finding) = match how {
            "abort" => {
                let said = json!({ "it printed": format!("simulated: giving up in {call}") });
                ("fail", aborted("SIGABRT", said))
            }
            "segv" => ("fail", aborted("SIGSEGV", json!({}))),
            _ => (
                "unknown",
                json!({
                    "id": "convolution-timeout",
                    "severity": "warning",
                    "summary": self.late(),
                    "evidence": {},
                    "help": ["set CUDNN_GUARD_DEADLINE to more seconds, if this machine is only slow"],
                }),
            ),
        };
        // A crash does not wait; a hang waits as long as it is given, and a busy machine needs longer to come to it.
        let patience: &[u32] = if how == "hang" { &[2, 8, 32] } else { &[60] };
        let told = patience.iter().find_map(|seconds| self.told(*seconds));
        let (only, fault) = (&self.only, &self.fault);
        let told = told.unwrap_or_else(|| panic!("{only} {fault}: late"));
        assert_eq!(told, (verdict.to_string(), finding), "{only} {fault}");
    }
}

/// All of them, a few at a time: they mostly wait.
fn all_must_be_told(planted: Vec<Planted>) {
    // Made once, before several ask for them.
    installed((9, 14, 0));
    circumstances();
    let rest = Mutex::new(planted);
    let next = || rest.lock().unwrap().pop();
    std::thread::scope(|threads| {
        for _ in 0..6 {
            threads.spawn(|| {
                while let Some(planted) = next() {
                    planted.must_be_told();
                }
            });
        }
    });
    assert!(next().is_none());
}

#[test]
fn a_crash_or_a_hang_says_what_was_tried() {
    let mut planted = Vec::new();
    for (name, words, call, algorithm) in LEGACY {
        for data_type in TYPES {
            for (how, layout) in [("abort", "NCHW"), ("segv", "NHWC"), ("hang", "NHWC")] {
                let only = format!("{name} {data_type} {layout}");
                let doing = format!("running the {words} in {data_type} ({layout}, {algorithm})");
                planted.push(Planted::new(how, call, &only, &doing));
            }
        }
    }
    assert_eq!(planted.len(), 4 * 4 * 3);
    all_must_be_told(planted);
}

#[test]
fn a_crash_or_a_hang_in_the_graph_says_what_was_tried() {
    let mut planted = Vec::new();
    let (execute, plan) = (
        "cudnnBackendExecute",
        "cudnnBackendFinalize(EXECUTION_PLAN)",
    );
    for (name, words, _, _) in &LEGACY[..3] {
        for data_type in TYPES {
            // Whoever asks for strict single precision gets the engine that does not round.
            let engine = if data_type == "f32" { 1 } else { 38 };
            let only = format!("graph {name} {data_type} NHWC");
            let what = format!("the {words} in {data_type} through the graph API");
            let running = format!("running {what} (NHWC, engine {engine})");
            let making = format!("making engine {engine} ready for {what} (NHWC)");
            planted.push(Planted::new("abort", execute, &only, &running));
            planted.push(Planted::new("segv", plan, &only, &making));
            planted.push(Planted::new("hang", plan, &only, &making));
            planted.push(Planted::new("hang", execute, &only, &running));
        }
    }
    assert_eq!(planted.len(), 3 * 4 * 4);
    all_must_be_told(planted);
}

/// What comes before an algorithm is chosen is not laid at the door of the convolution before it.
#[test]
fn a_crash_on_the_way_to_a_convolution_says_to_which() {
    let (f32, f16) = ("(NCHW)", "f16 through the graph API (NHWC)");
    all_must_be_told(vec![
        Planted::new("abort", "cudnnCreate", "", "creating a handle"),
        Planted::new(
            "abort",
            "cudnnGetConvolution2dForwardOutputDim",
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
            &format!("asking for algorithms for the forward convolution in f32 {f32}"),
        ),
        Planted::new(
            "hang",
            "cudnnBackendFinalize(ENGINEHEUR)",
            "",
            &format!("asking for engines for the forward convolution in {f16}"),
        ),
    ]);
}

/// SUB-11: engines of another release, on a machine without a GPU: no version check of cuDNN covers them, and no
/// convolution can be tried.
#[test]
fn engines_that_do_not_fit_are_told_without_a_gpu() {
    let none = ("SIM_DEVICES", "0");
    for (status, verdict, id) in [
        ("1002", "fail", "parts-mixed"),
        // A machine without the driver's library answers that too.
        ("1008", "unknown", "no-gpu"),
    ] {
        let fault = format!("status:cudnnBackendFinalize:{status}");
        let ran = do_all(&["thorough"], &[none, ("SIM_FAULT", &fault)]).exits_with(0);
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(json["verdict"], verdict, "{}", ran.text());
        let findings = json["findings"].as_array().unwrap();
        let found = findings.iter().find(|it| it["id"] == id);
        let found = found.unwrap_or_else(|| panic!("{}", ran.text()));
        let refused = &found["evidence"]["refused by"];
        assert_eq!(refused.as_str().is_some(), verdict == "fail", "{found}");
        if verdict == "fail" {
            assert_eq!(refused, "cudnnBackendFinalize(TENSOR)");
        }
    }
}

const AGAIN: &str = "start the program again; if it comes and goes, see `dmesg` for lines with Xid, and `nvidia-smi -q -d ECC`";

/// What is told of a program whose first child meets the one fault, and whose second one the other: the verdict, and
/// the first finding.
fn twice(name: &str, first: &str, then: &str) -> (String, Value) {
    let once = fresh(name).join("once");
    let ran = do_all(
        &["check"],
        &[
            ("SIM_ONCE", once.to_str().unwrap()),
            ("SIM_FAULT", first),
            ("SIM_THEN", then),
        ],
    )
    .exits_with(0);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    let verdict = json["verdict"].as_str().unwrap();
    (verdict.into(), json["findings"][0].clone())
}

#[test]
fn what_happens_once_stops_nothing_and_both_outcomes_are_told() {
    let (abort, refuse) = (
        "abort:cudnnConvolutionForward",
        "status:cudnnConvolutionForward:4000",
    );
    let doing = "running the forward convolution in f32 (NCHW, IMPLICIT_PRECOMP_GEMM)";
    let (verdict, finding) = twice("once-abort", abort, "");
    assert_eq!(verdict, "unknown");
    assert_eq!(
        finding,
        json!({
            "id": "cudnn-aborted",
            "severity": "warning",
            "summary": format!("cuDNN ended the process that tried it with SIGABRT while {doing}"),
            "evidence": {
                "it printed": "simulated: giving up in cudnnConvolutionForward",
                "second try": "nothing went wrong",
            },
            "help": [AGAIN],
        })
    );
    let told = |name, first, then| {
        let (verdict, finding) = twice(name, first, then);
        let second = &finding["evidence"]["second try"];
        // What stops nothing sends nobody to install anything.
        let is_installed = verdict == "fail";
        assert_eq!(
            finding["help"] == json!([AGAIN]),
            !is_installed,
            "{finding}"
        );
        let id = finding["id"].as_str().unwrap();
        format!("{verdict} {id}: {}", second.as_str().unwrap_or_default())
    };
    assert_eq!(
        told("once-refused", refuse, ""),
        "unknown convolution-failed: nothing went wrong"
    );
    assert_eq!(
        told("once-wrong", "wrong", ""),
        "unknown convolution-wrong: nothing went wrong"
    );
    assert_eq!(
        told("once-both", "wrong", abort),
        format!("unknown convolution-wrong: it ended with SIGABRT while {doing}")
    );
    let other = "unknown cudnn-aborted: `cudnnConvolutionForward` of cuDNN 9.14.0 answered";
    assert!(told("once-other", abort, refuse).starts_with(other));
    // The same id, though by another signal or in another call.
    let segv = "segv:cudnnConvolutionForward";
    assert_eq!(told("twice-ended", abort, segv), "fail cudnn-aborted: ");
    assert_eq!(
        told("twice-wrong", "wrong", "nan"),
        "fail convolution-wrong: "
    );
}

#[test]
fn startup_goes_on_after_what_happened_once() {
    let once = fresh("once-startup").join("once");
    let variables = [
        ("SIM_ONCE", once.to_str().unwrap()),
        ("SIM_FAULT", "status:cudnnCreate:4000"),
    ];
    let ran = do_all(&["startup", "went-on"], &variables).exits_with(0);
    assert_eq!(ran.stdout, "went on\n");
    assert!(
        ran.stderr.starts_with(
            "cudnn-guard: unknown: `cudnnCreate` of cuDNN 9.14.0 answered CUDNN_STATUS_INTERNAL_ERROR (4000) on Simulated GPU  [cudnn-create-failed]\n  \
             = help: start the program again; if it comes and goes"
        ) && ran.stderr.contains("\n  second try  nothing went wrong\n"),
        "{}",
        ran.stderr
    );
    // Twice it stops the program.
    do_all(&["startup"], &variables[1..]).exits_with(78);
}

/// What is there before cuDNN is asked for anything is the driver's, or a tool's that sits in it.
#[test]
fn a_crash_while_the_context_is_made_is_not_cudnns() {
    let tool = ("CUDA_INJECTION64_PATH", "/opt/tools/libprofiler.so");
    for (call, summary) in [
        (
            "cuDevicePrimaryCtxRetain",
            "the process that tries cuDNN was ended with SIGSEGV while making the GPU's context, before cuDNN was asked for anything",
        ),
        (
            "cuInit",
            "NVIDIA's driver ended the process that asked it with SIGSEGV",
        ),
    ] {
        let fault = format!("segv:{call}");
        for (variables, first) in [
            (
                vec![("SIM_FAULT", &fault[..])],
                "see whether `nvidia-smi` runs",
            ),
            (
                vec![("SIM_FAULT", &fault[..]), tool],
                "unset CUDA_INJECTION64_PATH, which brings a library into the process",
            ),
        ] {
            let ran = do_all(&["check"], &variables).exits_with(0);
            let json: Value = serde_json::from_str(&ran.stdout).unwrap();
            let finding = &json["findings"][0];
            assert_eq!(json["verdict"], "unknown", "{}", ran.text());
            assert_eq!(
                (&finding["id"], &finding["summary"]),
                (&json!("driver-error"), &json!(summary))
            );
            assert!(
                finding["help"][0].as_str().unwrap().starts_with(first),
                "{finding}"
            );
            // Nor is what cuDNN would open later to blame.
            assert_eq!(
                json["findings"].as_array().unwrap().len(),
                1,
                "{}",
                ran.text()
            );
            let set = &finding["evidence"]["set"];
            assert_eq!(set.is_string(), variables.len() == 2, "{finding}");
        }
    }
}
