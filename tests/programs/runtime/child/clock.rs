//! Programs whose clock is faked, as by libfaketime, or which are stopped for longer than the deadline.

use super::{child_of, is_there, sound};
use crate::support::circumstances::{end_of, library};
use crate::support::installation::compile_replacing;
use crate::support::{Ran, fresh, kill};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Returns the program with these acts and this clock: `offset` seconds ahead of the real one, or always the same.
fn faked(name: &str, acts: &[&str], seconds: &str) -> Command {
    let clock = fresh(name).join("libclock.so");
    let code = r#"
        #include <time.h>
        int clock_gettime(clockid_t clock, struct timespec *now) {
            const char *seconds = getenv("ODD_CLOCK");
            int failed = syscall(SYS_clock_gettime, clock, now);
            if (seconds[0] == '=')
                *now = (struct timespec){atol(seconds + 1), 0};
            else
                now->tv_sec += atol(seconds);
            return failed;
        }
    "#;
    compile_replacing(code, &clock);
    let mut program = sound(acts);
    program
        .env("LD_PRELOAD", clock)
        .env("ODD_CLOCK", seconds)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    program
}

#[test]
fn a_faked_clock_does_not_delay_a_check() {
    for (clock, name) in [("1296000", "ahead"), ("=5000", "stands-still")] {
        let limit = Duration::from_secs(20);
        let (name, acts) = (format!("clock-{name}"), ["startup", "went-on"]);
        // Without the guard.
        let program = faked(&name, &acts[1..], clock).spawn();
        let ran = end_of(program.unwrap(), limit).0.exits_with(0);
        assert_eq!(ran.text(), "went on\n");
        let program = faked(&name, &acts, clock).spawn();
        let ran = end_of(program.unwrap(), limit).0.exits_with(0);
        assert_eq!(ran.text(), "went on\n", "{clock}");
        // A child that hangs is killed at its deadline.
        let mut program = faked(&name, &acts, clock);
        program
            .env("SIM_FAULT", "hang:cudnnCreate")
            .env("CUDNN_GUARD_DEADLINE", "1");
        let ran = end_of(program.spawn().unwrap(), limit).0.exits_with(0);
        ran.says("cudnn-guard: unknown: the test process timed out while ");
    }
}

/// Starts a program whose child needs a second, and stops the program, or both, before the child ends. Continues them
/// when the deadline has passed.
fn stopped(name: &str, with_child: bool) -> Ran {
    let slow = fresh(name).join("libslow.so");
    let code = "#include <unistd.h>
        __attribute__((constructor)) static void wait(void) { usleep(1000000); }";
    library(code, &slow);
    let mut program = sound(&["startup", "went-on"]);
    program
        .env("SIM_FAULT", format!("opens:{}", slow.display()))
        .env("CUDNN_GUARD_REQUIRE_GPU", "strict")
        .env("CUDNN_GUARD_DEADLINE", "3")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let program = program.spawn().unwrap();
    let child = child_of(&program);
    sleep(Duration::from_millis(400));
    let mut both = vec![program.id(), child];
    both.truncate(1 + usize::from(with_child));
    let send = |signal| both.iter().for_each(|one| kill(signal, &one.to_string()));
    send("STOP");
    sleep(Duration::from_millis(3500));
    assert_eq!(is_there(child), with_child);
    send("CONT");
    end_of(program, Duration::from_secs(20)).0
}

/// Without the guard, a stopped program continues too.
#[test]
fn a_program_that_was_stopped_for_longer_than_the_deadline_gets_its_answer() {
    for (name, with_child) in [("clock-stopped", false), ("clock-both-stopped", true)] {
        let ran = stopped(name, with_child).exits_with(0);
        assert_eq!(ran.text(), "went on\n", "{name}");
    }
}
