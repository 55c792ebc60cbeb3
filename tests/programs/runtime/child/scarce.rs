//! Processes with little: of memory, of a stack, of random numbers.

use super::{child_of, hanging, sound};
use crate::support::installation::compile_replacing;
use crate::support::{fresh, kill, run, wrapped};
use std::fs;

/// If memory runs out, the kernel ends the process with the highest score first: the child, not the program.
#[test]
fn the_child_is_killed_before_the_program_if_memory_runs_out() {
    let score = |process: u32| {
        let text = fs::read_to_string(format!("/proc/{process}/oom_score_adj")).unwrap();
        text.trim().parse::<i32>().unwrap()
    };
    let (mut parent, child) = hanging("child-memory", "60");
    let own = score(std::process::id());
    assert_eq!((score(parent.id()), score(child)), (own, 1000));
    assert_eq!(child_of(&parent), child);
    kill("KILL", &child.to_string());
    assert!(parent.wait().unwrap().success());
}

/// Rust's hash maps need random numbers, and panic without them.
#[test]
fn a_check_needs_no_random_numbers() {
    let folder = fresh("child-random");
    let (none, report) = (folder.join("libnone.so"), folder.join("report"));
    let code = r#"
        #include <fcntl.h>
        ssize_t getrandom(void *into, size_t size, unsigned flags) {
            errno = EPERM;
            return -1;
        }
        int open64(const char *path, int flags, ...) {
            if (strcmp(path, "/dev/urandom") == 0) {
                errno = ENOENT;
                return -1;
            }
            return syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
        }
    "#;
    compile_replacing(code, &none);
    // Without the guard.
    let mut program = sound(&["went-on"]);
    let ran = run(program.env("LD_PRELOAD", &none)).exits_with(0);
    assert_eq!(ran.text(), "went on\n");
    let mut program = sound(&["startup", "went-on"]);
    program
        .env("LD_PRELOAD", &none)
        .env("CUDNN_GUARD_REPORT", &report);
    let ran = run(&mut program).exits_with(0);
    assert_eq!(ran.text(), "went on\n");
    let written = fs::read_to_string(report).unwrap();
    assert!(written.contains(r#""verdict":"pass""#), "{written}");
}

/// The system reports another stack for this thread, which is large.
#[test]
fn a_small_stack_that_the_program_has_made_does_not_overflow() {
    let ran = run(&mut sound(&["own-stack", "check", "version", "went-on"])).exits_with(0);
    assert!(ran.stdout.ends_with("went on\n"), "{}", ran.text());
    assert_eq!(ran.stderr, "");
}

/// The first thread's stack grows, but not beyond its limit. The kernel also puts the paths, the variables and up to 8 KiB
/// of random space there.
#[test]
fn a_first_thread_with_a_small_stack_gets_an_answer() {
    for kibibytes in [24, 32, 64, 128] {
        for acts in [
            &["went-on"][..],
            &["startup", "check", "version", "went-on"],
        ] {
            // Variables are on the stack too.
            let line = format!("ulimit -s {kibibytes} && exec \"$@\"");
            let mut shell = wrapped(&["sh", "-c", &line, "sh"], &sound(acts));
            let ran = run(&mut shell).exits_with(0);
            assert!(ran.stdout.ends_with("went on\n"), "{}", ran.text());
            assert_eq!(ran.stderr, "", "{kibibytes}");
        }
    }
}
