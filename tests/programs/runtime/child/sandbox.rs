//! Sandboxes that raise SIGSYS for a system call, as those of browsers do. cuDNN is not at fault.

use crate::support::circumstances::{circumstances, do_all, library};
use crate::support::{Ran, fresh};

const IS_ARM: bool = cfg!(target_arch = "aarch64");
/// A call of glibc when a thread ends.
const MADVISE: &str = if IS_ARM { "233" } else { "28" };
/// A call that only the library of [`calling`] makes.
const GETPRIORITY: &str = if IS_ARM { "141" } else { "140" };

/// Returns the fault that makes the simulated cuDNN open a library that calls `getpriority`.
fn calling(name: &str) -> String {
    let opened = fresh(name).join("libcalling.so");
    library(
        "#include <sys/resource.h>
        __attribute__((constructor)) static void call(void) { getpriority(PRIO_PROCESS, 0); }",
        &opened,
    );
    format!("opens:{}", opened.display())
}

/// Runs the program with these acts in a sandbox, in which this comes of these calls.
fn sandboxed(acts: &[&str], calls: &str, then: &str, fault: &str) -> Ran {
    circumstances();
    let acts = [&["sandbox"], acts, &["went-on"]].concat();
    let sandbox = format!("{calls} {then}");
    do_all(&acts, &[("ODD_SANDBOX", &sandbox), ("SIM_FAULT", fault)])
}

#[test]
fn the_sandboxs_own_handler_answers_in_the_child_too() {
    let calling = calling("sandbox-answers");
    for call in [MADVISE, GETPRIORITY] {
        // Without the guard: the handler answers the program itself.
        let ran = sandboxed(&["forbidden-call"], call, "answers", "").exits_with(0);
        let answered = "-1 Operation not permitted (os error 1)\nwent on\n";
        assert_eq!(ran.text(), answered);
        let ran = sandboxed(&["startup"], call, "answers", &calling).exits_with(0);
        assert_eq!(ran.text(), "went on\n", "{call}");
    }
}

#[test]
fn a_call_that_a_sandbox_forbids_is_not_a_crash_of_cudnn() {
    let calling = calling("sandbox-forbids");
    for (then, what) in [
        ("no-handler", "system call NUMBER"),
        ("crashes", "system call NUMBER"),
        // The kernel does not report the number.
        ("kills", "a system call"),
    ] {
        // Without the guard: a program that does not use cuDNN does not make the call.
        let ran = sandboxed(&[], GETPRIORITY, then, "").exits_with(0);
        assert_eq!(ran.text(), "went on\n");
        let ran = sandboxed(&["startup"], GETPRIORITY, then, &calling).exits_with(0);
        let what = what.replace("NUMBER", GETPRIORITY);
        let expected = format!(
            "cudnn-guard: unknown: a sandbox forbids {what}, so the test process ended while running the forward convolution in f32 (NCHW, IMPLICIT_PRECOMP_GEMM)  [child-not-started]\n  \
             = help: call `startup()` before the program enters the sandbox\n"
        );
        assert_eq!((&*ran.stdout, &*ran.stderr), ("went on\n", &*expected));
    }
    let ran = sandboxed(&["startup"], GETPRIORITY, "exits", &calling).exits_with(0);
    ran.says("cudnn-guard: unknown: the test process ended silently while ");
}

/// A handler that has answered has nothing to do with a later crash.
#[test]
fn a_crash_after_an_answered_call_is_still_a_crash_of_cudnn() {
    let fault = "segv:cudnnDestroy";
    let ran = sandboxed(&["startup"], MADVISE, "answers", fault);
    ran.exits_with(78)
        .says("cuDNN crashed the test process (SIGSEGV) while ");
}

/// The guard makes the driver's requests only after it has reported the driver's answer.
#[test]
fn a_sandbox_that_kills_for_a_request_of_the_driver_does_not_hide_its_answer() {
    circumstances();
    let memory_file = if IS_ARM { "279" } else { "319" };
    let variables = [
        ("ODD_SANDBOX", &*format!("{memory_file} kills")),
        ("SIM_CUINIT", "304"),
    ];
    let ran = do_all(&["sandbox", "startup", "went-on"], &variables).exits_with(0);
    assert_eq!(ran.stdout, "went on\n", "{}", ran.text());
    ran.says("`cuInit` returned CUDA_ERROR_OPERATING_SYSTEM (304)  [driver-error]");
    // If CUDA is in use, this process itself queries the driver.
    let count = "status:cuDeviceGetCount:304";
    let variables = [variables[0], ("SIM_FAULT", count)];
    let ran = do_all(&["start-cuda", "sandbox", "check", "went-on"], &variables);
    let ran = ran
        .exits_with(0)
        .says("`cuDeviceGetCount` returned CUDA_ERROR_OPERATING_SYSTEM (304)");
    assert!(ran.stdout.ends_with("went on\n"), "{}", ran.text());
}
