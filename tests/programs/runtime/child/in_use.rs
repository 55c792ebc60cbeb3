//! A program that already uses CUDA.

use super::{json, verdict_and_ids};
use crate::support::circumstances::do_all;

/// A computation in between would invalidate a stream capture.
#[test]
fn nothing_runs_while_a_stream_is_captured() {
    let acts = ["start-cuda", "context", "check", "context"];
    // A call to cuDNN would abort the program.
    let set = [
        ("SIM_CAPTURING", "seen"),
        ("SIM_FAULT", "abort:cudnnCreate"),
    ];
    let ran = do_all(&acts, &set).exits_with(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        verdict_and_ids(lines[1]),
        "unknown child-not-started device-busy"
    );
    assert_eq!(
        json(lines[1])["findings"][1]["summary"],
        "this program is capturing work on Simulated GPU into a graph, which a convolution would break, so none was tested"
    );
    assert_eq!(lines[0], lines[2]);
    // Allocating memory does not break a capture that the guard cannot detect.
    let ran = do_all(&acts, &[("SIM_CAPTURING", "unseen")]).exits_with(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(verdict_and_ids(lines[1]), "pass child-not-started");
    assert_eq!(lines[0], lines[2]);
}

/// An error stays with the context, and may have occurred before the check.
#[test]
fn an_error_of_a_shared_context_is_unknown() {
    for fault in ["status:cuCtxSynchronize:700", "status:cuCtxSynchronize:719"] {
        let fault = [("SIM_FAULT", fault)];
        let ran = do_all(&["start-cuda", "check"], &fault).exits_with(0);
        let verdict = verdict_and_ids(ran.stdout.trim());
        assert!(
            verdict.starts_with("unknown ") && verdict.contains("convolution-failed"),
            "{verdict}"
        );
        // In a child process, the error comes from cuDNN.
        let ran = do_all(&["check"], &fault).exits_with(0);
        assert!(verdict_and_ids(ran.stdout.trim()).starts_with("fail convolution-failed"));
    }
    // Errors of cuDNN itself are failures here too.
    let ran = do_all(&["start-cuda", "check"], &[("SIM_FAULT", "wrong")]).exits_with(0);
    assert!(verdict_and_ids(ran.stdout.trim()).starts_with("fail convolution-wrong"));
}
