//! A program that uses CUDA already.

use super::{json, told};
use crate::support::circumstances::do_all;

/// What is computed in between would end a capture.
#[test]
fn nothing_is_computed_while_a_stream_is_captured() {
    let acts = ["start-cuda", "context", "check", "context"];
    // A call of cuDNN's would end the program.
    let set = [
        ("SIM_CAPTURING", "seen"),
        ("SIM_FAULT", "abort:cudnnCreate"),
    ];
    let ran = do_all(&acts, &set).exits_with(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(told(lines[1]), "unknown child-not-started device-busy");
    assert_eq!(
        json(lines[1])["findings"][1]["summary"],
        "this program is capturing work on Simulated GPU into a graph, which a convolution would break, so none was tested"
    );
    assert_eq!(lines[0], lines[2]);
    // What nobody can ask for is not broken by memory that is taken.
    let ran = do_all(&acts, &[("SIM_CAPTURING", "unseen")]).exits_with(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(told(lines[1]), "pass child-not-started");
    assert_eq!(lines[0], lines[2]);
}

/// An error stays with the context, and may have been there before.
#[test]
fn an_error_of_the_context_that_the_program_uses_too_is_unknown() {
    for fault in ["status:cuCtxSynchronize:700", "status:cuCtxSynchronize:719"] {
        let fault = [("SIM_FAULT", fault)];
        let ran = do_all(&["start-cuda", "check"], &fault).exits_with(0);
        let verdict = told(ran.stdout.trim());
        assert!(
            verdict.starts_with("unknown ") && verdict.contains("convolution-failed"),
            "{verdict}"
        );
        // In a child it is cuDNN's.
        let ran = do_all(&["check"], &fault).exits_with(0);
        assert!(told(ran.stdout.trim()).starts_with("fail convolution-failed"));
    }
    // What cuDNN itself does wrong is so here too.
    let ran = do_all(&["start-cuda", "check"], &[("SIM_FAULT", "wrong")]).exits_with(0);
    assert!(told(ran.stdout.trim()).starts_with("fail convolution-wrong"));
}
