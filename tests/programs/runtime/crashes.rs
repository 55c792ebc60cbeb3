//! Crashes and hangs of cuDNN, in complete programs on the simulator. For each operation, format and API, the report
//! names the signal and the operation that was being tested.

pub mod planted;

use crate::support::circumstances::{circumstances, command, do_all, installed, library};
use crate::support::{fresh, rows, run, wrapped};
use planted::Planted;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Checks the reports of all planted faults.
fn check_all_reports(planted: Vec<Planted>) {
    // Both are built once, before several threads need them.
    installed((9, 14, 0));
    circumstances();
    planted::check_all_reports(planted);
}

#[test]
fn a_crash_or_a_hang_names_the_tested_step() {
    check_all_reports(planted::legacy());
}

#[test]
#[ignore = "48 programs: seven seconds of a core"]
fn a_crash_or_a_hang_in_the_graph_api_names_the_tested_step() {
    check_all_reports(planted::graph());
}

/// A crash before an algorithm is chosen is not attributed to the previous convolution.
#[test]
fn a_crash_before_a_convolution_names_the_convolution() {
    check_all_reports(planted::on_the_way());
}

/// Engines of another version, on a machine without a GPU. The version checks of cuDNN do not cover them, and
/// no convolution can be run.
#[test]
fn incompatible_engines_are_reported_without_a_gpu() {
    let none = ("SIM_DEVICES", "0");
    for (status, verdict, id) in [
        ("1002", "fail", "parts-mixed"),
        // A machine without the driver library returns this status too.
        ("1008", "unknown", "no-gpu"),
    ] {
        let fault = format!("status:cudnnBackendFinalize:{status}");
        let ran = do_all(&["thorough"], &[none, ("SIM_FAULT", &fault)]).exits_with(0);
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(json["verdict"], verdict, "{}", ran.text());
        let findings = json["findings"].as_array().unwrap();
        let found = findings.iter().find(|it| it["id"] == id);
        let found = found.unwrap_or_else(|| panic!("{}", ran.text()));
        let refused = &found["evidence"]["mismatch"];
        assert_eq!(refused.as_str().is_some(), verdict == "fail", "{found}");
        if verdict == "fail" {
            assert_eq!(refused, "cudnnBackendFinalize(TENSOR)");
        }
    }
}

const AGAIN: &str = "restart the program; if the failure comes and goes, check `dmesg` for lines with Xid, and `nvidia-smi -q -d ECC`";

/// Runs a program whose first child meets the fault `first` and whose second child meets `then`. Returns the verdict
/// and the first finding.
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

/// The first and the second fault, and the report. The ids can be equal, although the signal or the call differs.
const TWICE: &str = "\
once-refused | status:cudnnConvolutionForward:4000 |  | unknown convolution-failed: passed
once-wrong | wrong |  | unknown convolution-wrong: passed
once-both | wrong | abort:cudnnConvolutionForward | unknown convolution-wrong: crashed (SIGABRT) while DOING
once-other | abort:cudnnConvolutionForward | status:cudnnConvolutionForward:4000 | unknown cudnn-aborted: `cudnnConvolutionForward` of cuDNN 9.14.0 returned CUDNN_STATUS_INTERNAL_ERROR (4000) on Simulated GPU
twice-ended | abort:cudnnConvolutionForward | segv:cudnnConvolutionForward | fail cudnn-aborted: .
twice-wrong | wrong | nan | fail convolution-wrong: .
";

#[test]
fn a_failure_that_happens_once_stops_nothing_and_both_outcomes_are_reported() {
    let doing = "running the forward convolution in f32 (NCHW, IMPLICIT_PRECOMP_GEMM)";
    let (verdict, finding) = twice("once-abort", "abort:cudnnConvolutionForward", "");
    assert_eq!(verdict, "unknown");
    assert_eq!(
        finding,
        json!({
            "id": "cudnn-aborted",
            "severity": "warning",
            "summary": format!("cuDNN crashed the test process (SIGABRT) while {doing}"),
            "evidence": {
                "output": "simulated: giving up in cudnnConvolutionForward",
                "retry": "passed",
            },
            "help": [AGAIN],
        })
    );
    let report_twice = |name, first, then| {
        let (verdict, finding) = twice(name, first, then);
        let second = &finding["evidence"]["retry"];
        // A fault that stops nothing must not recommend an installation.
        let is_installed = verdict == "fail";
        assert_eq!(
            finding["help"] == json!([AGAIN]),
            !is_installed,
            "{finding}"
        );
        let id = finding["id"].as_str().unwrap();
        format!("{verdict} {id}: {}", second.as_str().unwrap_or_default())
    };
    for [name, first, then, expected] in rows(TWICE) {
        let expected = expected.replace("DOING", doing);
        let expected = expected.trim_end_matches('.');
        assert_eq!(report_twice(name, first, then), expected);
    }
}

#[test]
fn startup_continues_after_a_failure_that_happened_once() {
    let once = fresh("once-startup").join("once");
    let variables = [
        ("SIM_ONCE", once.to_str().unwrap()),
        ("SIM_FAULT", "status:cudnnCreate:4000"),
    ];
    let ran = do_all(&["startup", "went-on"], &variables).exits_with(0);
    assert_eq!(ran.stdout, "went on\n");
    assert!(
        ran.stderr.starts_with(
            "cudnn-guard: unknown: `cudnnCreate` of cuDNN 9.14.0 returned CUDNN_STATUS_INTERNAL_ERROR (4000) on Simulated GPU  [cudnn-create-failed]\n  \
             = help: restart the program; if the failure comes and goes"
        ) && ran.stderr.contains("\n  retry       passed\n"),
        "{}",
        ran.stderr
    );
    // A fault that occurs twice stops the program.
    do_all(&["startup"], &variables[1..]).exits_with(78);
}

/// A crash before the first cuDNN call comes from the driver, or from a tool inside it.
#[test]
fn a_crash_while_the_context_is_created_is_not_attributed_to_cudnn() {
    let tool = ("CUDA_INJECTION64_PATH", "/opt/tools/libprofiler.so");
    for (call, summary) in [
        (
            "cuDevicePrimaryCtxRetain",
            "the test process crashed (SIGSEGV) while creating the GPU context, before it called cuDNN",
        ),
        (
            "cuInit",
            "NVIDIA's driver crashed the test process (SIGSEGV)",
        ),
    ] {
        let fault = format!("segv:{call}");
        for (variables, first) in [
            (vec![("SIM_FAULT", &fault[..])], "run `nvidia-smi`"),
            (
                vec![("SIM_FAULT", &fault[..]), tool],
                "unset CUDA_INJECTION64_PATH, which loads a library into the process",
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
            // The libraries that cuDNN would open later are not blamed either.
            assert_eq!(
                json["findings"].as_array().unwrap().len(),
                1,
                "{}",
                ran.text()
            );
            let set = &finding["evidence"]["variable"];
            assert_eq!(set.is_string(), variables.len() == 2, "{finding}");
        }
    }
}

/// A profiler, a sanitizer or a library that partitions a GPU sits between cuDNN and the driver, and may crash there.
#[test]
fn a_crash_under_a_tool_is_unknown() {
    let abort = ("SIM_FAULT", "abort:cudnnConvolutionForward");
    do_all(&["startup"], &[abort]).exits_with(78);
    let required = ("CUDNN_GUARD_REQUIRE_GPU", "1");
    for name in ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"] {
        let tool = (name, "/opt/tools/libprofiler.so");
        let ran = do_all(&["startup", "went-on"], &[abort, tool, required]).exits_with(0);
        let words = format!(
            "  [cudnn-aborted]\n  = help: unset {name} to test cuDNN without the tool\n  tool        {name}=/opt/tools/libprofiler.so\n"
        );
        assert!(
            ran.stderr
                .starts_with("cudnn-guard: unknown: the test process crashed (SIGABRT) while ")
                && ran.stderr.contains(&words),
            "{}",
            ran.stderr
        );
    }

    let folder = fresh("crashes-tool");
    let between = folder.join("libvgpu.so");
    library("int cuInit(unsigned flags) { return 3; }", &between);
    let preload = |file: &Path| ("LD_PRELOAD", file.display().to_string());
    let (name, file) = preload(&between);
    let aborts = ("SIM_FAULT", "abort:cudnnGetVersion");
    let ran = do_all(&["startup", "went-on"], &[aborts, (name, &file)]).exits_with(0);
    let words = format!(
        "  = help: remove `{file}` from LD_PRELOAD and /etc/ld.so.preload to test cuDNN without it\n  tool        {file}\n"
    );
    assert!(ran.stderr.contains(&words), "{}", ran.stderr);

    // An allocator is not such a tool.
    let allocator = folder.join("liballoc.so");
    library("void *allocate(void) { return 0; }", &allocator);
    let (name, file) = preload(&allocator);
    do_all(&["startup"], &[abort, (name, &file)]).exits_with(78);
}

/// A debugger or `strace` may send signals too.
#[test]
fn a_crash_under_a_tracer_is_unknown() {
    let folder = fresh("crashes-tracer");
    let (tracer, source) = (folder.join("tracer"), folder.join("tracer.c"));
    // The tracer follows only the program, not the child that the guard creates.
    let code = r#"
        #include <sys/ptrace.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main(int count, char **words) {
            int status;
            pid_t program = fork();
            if (program == 0) {
                ptrace(PTRACE_TRACEME, 0, 0, 0);
                execv(words[1], words + 1);
                _exit(127);
            }
            while (waitpid(program, &status, 0) == program && WIFSTOPPED(status)) {
                int signal = WSTOPSIG(status) == 5 ? 0 : WSTOPSIG(status);
                ptrace(PTRACE_CONT, program, 0, (long)signal);
            }
            return count && WIFEXITED(status) ? WEXITSTATUS(status) : 126;
        }
    "#;
    std::fs::write(&source, code).unwrap();
    run(Command::new("cc").arg("-o").arg(&tracer).arg(&source)).exits_with(0);
    let tree = installed((9, 14, 0));
    let program = command(
        &["startup", "went-on"],
        &[tree.join("lib64"), tree.join("driver")],
    );
    let mut traced = wrapped(&[tracer.to_str().unwrap()], &program);
    let ran = run(traced.env("SIM_FAULT", "abort:cudnnConvolutionForward")).exits_with(0);
    assert!(
        ran.stderr
            .starts_with("cudnn-guard: unknown: the test process crashed (SIGABRT) while ")
            && ran.stderr.contains(
                "  = help: start the program without the debugger or tracer to test cuDNN\n  tool        process "
            ),
        "{}",
        ran.stderr
    );
}
