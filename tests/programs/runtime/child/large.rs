//! Programs with much memory, which the guard starts again: a fork would copy their page tables.

use super::{hanging_after, is_there, started_by_another_user, verdict_and_ids};
use crate::support::circumstances::{circumstances, command, do_all, installed, library};
use crate::support::{Ran, fresh, run};
use cudnn_guard::internals::child::{Functions, Task};
use std::fs;
use std::time::{Duration, Instant};

/// Runs the program with these acts and variables, and `then` in a preloaded library if it is started again. Returns also
/// how often it was started. `main` must run once.
fn started(name: &str, acts: &[&str], then: &str, variables: &[(&str, &str)]) -> (Ran, usize) {
    let folder = fresh(name);
    let (counter, log) = (folder.join("libcounter.so"), folder.join("starts"));
    let code = r#"
        #include <fcntl.h>
        #include <sys/resource.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        __attribute__((constructor)) static void start(void) {
            char *child = getenv("CUDNN_GUARD_CHILD");
            int log = open(getenv("ODD_STARTS"), O_WRONLY | O_CREAT | O_APPEND, 0600);
            if (write(log, "x", 1) != 1) _exit(1);
            close(log);
            if (child) { THEN }
        }
    "#;
    library(&code.replace("THEN", then), &counter);
    let preloaded = |others: &str| format!("{}{others}", counter.display());
    let tree = installed((9, 14, 0));
    let mut program = command(acts, &[tree.join("lib64"), tree.join("driver")]);
    program
        .env("LD_PRELOAD", preloaded(""))
        .env("ODD_STARTS", &log);
    for (variable, value) in variables {
        let is_preload = *variable == "LD_PRELOAD";
        program.env(
            variable,
            if is_preload {
                preloaded(value)
            } else {
                value.to_string()
            },
        );
    }
    let mains = folder.join("mains");
    let ran = run(program.env("ODD_MAINS", &mains));
    assert_eq!(fs::read(mains).unwrap().len(), 1);
    (ran, fs::read(log).unwrap().len())
}

/// Asserts that a check passes.
#[track_caller]
fn passes(ran: Ran) {
    let ran = ran.exits_with(0);
    let (report, rest) = ran.stdout.split_once('\n').unwrap();
    assert_eq!(
        (&*verdict_and_ids(report), rest, &*ran.stderr),
        ("pass ", "went on\n", "")
    );
}

const LARGE: [&str; 3] = ["touch-memory", "check", "went-on"];

#[test]
fn only_a_program_with_much_memory_is_started_again() {
    let (ran, starts) = started("large", &LARGE, "", &[]);
    passes(ran);
    assert_eq!(starts, 2);
    let (ran, starts) = started("large-not", &LARGE[1..], "", &[]);
    passes(ran);
    assert_eq!(starts, 1);
}

#[test]
fn a_second_instance_only_opens_what_a_fork_would_only_open() {
    for functions in [None, Some(Functions::default())] {
        let task = Task {
            functions,
            ..Task::default()
        };
        let text = task.to_text("token", 1);
        let (_, _, parsed) = Task::parse(&text, "token", Functions::default()).unwrap();
        assert_eq!(parsed.functions.is_none(), functions.is_none());
    }
}

/// The loader would find other files in a second instance.
#[test]
fn a_program_whose_loader_differs_is_forked() {
    let acts = ["set-library-path", "touch-memory", "check", "went-on"];
    let (ran, starts) = started("large-path", &acts, "", &[]);
    passes(ran);
    assert_eq!(starts, 1);
    let cublas = fresh("large-cublas").join("libcublas.so.12");
    library("int nothing;", &cublas);
    let driver = installed((9, 14, 0)).join("driver/libcuda.so.1");
    for other in [cublas, driver] {
        let preload = format!(":{}", other.display());
        let (ran, starts) = started("large-preload", &LARGE, "", &[("LD_PRELOAD", &preload)]);
        passes(ran);
        assert_eq!(starts, 1, "{preload}");
    }
}

#[test]
fn a_second_instance_that_does_not_answer_is_replaced_by_a_fork() {
    for (name, then) in [
        ("ends", "_exit(3);"),
        ("crashes", "abort();"),
        ("hangs", "for (;;) sleep(60);"),
        ("loses-its-task", r#"*strchr(child, '\n') = 0;"#),
        ("has-part-of-its-task", r#"strstr(child, "built ")[0] = 0;"#),
        (
            "has-another-cudnn",
            r#"strstr(child, "libcudnn")[3] = 'x';"#,
        ),
        (
            "has-few-files",
            "struct rlimit few = {3, 3}; setrlimit(RLIMIT_NOFILE, &few);",
        ),
    ] {
        let began = Instant::now();
        let (ran, starts) = started(&format!("large-{name}"), &LARGE, then, &[]);
        passes(ran);
        assert_eq!(starts, 2, "{name}");
        assert!(began.elapsed() < Duration::from_secs(20), "{name}");
    }
}

fn without_times(ran: Ran) -> (Option<i32>, String) {
    let text = ran.text();
    let lines: Vec<&str> = text.lines().filter(|line| !line.ends_with(" ms")).collect();
    (ran.code, lines.join("\n"))
}

#[test]
fn a_fault_in_a_second_instance_is_reported_as_in_a_fork() {
    for fault in [
        "segv:cudnnCreate",
        "abort:cudnnGetVersion",
        "hang:cudnnCreate",
        "wrong",
        "flood",
    ] {
        let variables = [("SIM_FAULT", fault), ("CUDNN_GUARD_DEADLINE", "4")];
        let small = do_all(&["startup", "went-on"], &variables);
        let acts = ["touch-memory", "startup", "went-on"];
        let (large, starts) = started("large-fault", &acts, "", &variables);
        assert_eq!(starts, 2, "{fault}");
        assert_eq!(without_times(large), without_times(small), "{fault}");
    }
}

/// `posix_spawn` makes the call `clone3`, which `fork` does not make.
#[test]
fn a_program_in_a_sandbox_is_forked() {
    let acts = ["touch-memory", "sandbox", "check", "went-on"];
    let (ran, starts) = started("large-sandbox", &acts, "", &[("ODD_SANDBOX", "435 kills")]);
    passes(ran);
    assert_eq!(starts, 1);
}

/// The user of a setuid program must not choose what it opens.
#[test]
#[ignore = "needs root: starts a setuid program as another user"]
fn a_setuid_program_accepts_no_task() {
    let file = fresh("large-setuid").join("task");
    let then = r#"int task = open(getenv("ODD_TASK"), O_WRONLY | O_CREAT, 0600);
        if (write(task, child, strlen(child)) < 0) _exit(1);"#;
    let (ran, _) = started(
        "large-task",
        &LARGE,
        then,
        &[("ODD_TASK", file.to_str().unwrap())],
    );
    passes(ran);
    let task = fs::read_to_string(file).unwrap();
    assert!(task.contains("\nmain "), "{task}");
    let variable = [("CUDNN_GUARD_CHILD", &*task)];
    let ran = started_by_another_user("went-on", &variable).exits_with(0);
    assert_eq!(ran.text(), "went on\n");
}

#[test]
fn a_second_instance_is_protected_like_a_fork() {
    let acts = ["touch-memory", "startup", "went-on"];
    let (mut parent, child) = hanging_after("large-hanging", &acts, "60");
    let proc = |file: &str| fs::read_to_string(format!("/proc/{child}/{file}")).unwrap();
    let executable = fs::read_link(format!("/proc/{child}/exe")).unwrap();
    assert_eq!((&*proc("comm"), executable), ("exe\n", circumstances()));
    assert_eq!(proc("oom_score_adj"), "1000\n");
    let limits = proc("limits");
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    assert_eq!(
        core.unwrap().split_whitespace().nth(4),
        Some("0"),
        "{limits}"
    );
    // Other programs cannot write to the answer pipe: the standard streams are the output pipe.
    let stream = |number: u32| fs::read_link(format!("/proc/{child}/fd/{number}")).unwrap();
    assert_eq!([stream(0), stream(1)], [stream(2), stream(2)]);
    parent.kill().unwrap();
    parent.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while is_there(child) {
        assert!(Instant::now() < until, "{child} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}
