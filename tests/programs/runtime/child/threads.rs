//! Threads of the program that ask at once, or are busy while the guard works.

use super::{calls, sound, told};
use crate::support::circumstances::{do_all, library, turns};
use crate::support::scratch;
use std::collections::HashSet;
use std::time::{Duration, Instant};

#[test]
fn several_threads_ask_at_once() {
    let ran = do_all(&["four-checks"], &[]).exits_with(0);
    let verdicts: Vec<String> = ran.stdout.lines().map(told).collect();
    assert_eq!(verdicts, ["pass "; 4]);
    // A child that hangs keeps nobody else waiting for longer than its own time.
    let hang = [
        ("SIM_FAULT", "hang:cudnnCreate"),
        ("CUDNN_GUARD_DEADLINE", "1"),
    ];
    let began = Instant::now();
    let ran = do_all(&["four-checks"], &hang).exits_with(0);
    let verdicts: Vec<String> = ran.stdout.lines().map(told).collect();
    assert_eq!(verdicts, ["unknown convolution-timeout"; 4]);
    assert!(began.elapsed() < Duration::from_secs(20));
}

/// glibc gives a thread as little; before the guard has a stack of its own, it takes next to nothing of it.
#[test]
fn a_thread_with_the_least_stack_gets_an_answer() {
    let acts = [
        "least-stack",
        "check",
        "version",
        "thorough",
        "startup",
        "went-on",
    ];
    let ran = do_all(&acts, &[]).exits_with(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{}", ran.text());
    assert_eq!([lines[0], lines[1], lines[2]].map(told), ["pass "; 3]);
    assert_eq!(lines[3], "went on");
}

/// None is doubled while another one is within the loader, so that fifty need hardly more than fifty children.
#[test]
fn fifty_threads_that_ask_at_once_take_turns() {
    sound(&[]);
    let began = Instant::now();
    let (_, calls, said) = calls("child-fifty", &["fifty-checks"]);
    let verdicts: Vec<String> = said.lines().map(told).collect();
    assert_eq!(verdicts, ["pass "; 50]);
    let turns = turns(&calls);
    let children: HashSet<u32> = turns.iter().copied().collect();
    assert_eq!(turns.len(), children.len(), "{turns:?}");
    // On a busy machine one may be too slow, and another is made.
    assert!((50..60).contains(&children.len()), "{}", children.len());
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
}

/// Another thread may hold a lock when the child is made, and in the child nobody gives it back.
#[test]
fn locks_of_other_threads_keep_nobody_waiting() {
    let opened = scratch("child-locks").join("libopened.so");
    let code = "#include <unistd.h>
        int one; int *all[2000] = {[0 ... 1999] = &one};
        __attribute__((constructor)) static void wait(void) { usleep(500); }";
    library(code, &opened);
    let opened = ("ODD_LIBRARY", opened.to_str().unwrap());
    for act in ["busy-list", "busy-loader", "busy-allocator"] {
        let began = Instant::now();
        let ran = do_all(&[act, "forty-checks"], &[opened]).exits_with(0);
        let verdicts: Vec<String> = ran.stdout.lines().map(told).collect();
        // A machine that is busy with other things may not run a child in time now and then.
        let passed = verdicts
            .iter()
            .filter(|verdict| *verdict == "pass ")
            .count();
        let late = verdicts
            .iter()
            .filter(|verdict| *verdict == "unknown child-not-started");
        assert_eq!(passed + late.count(), 40, "{act}: {verdicts:?}");
        assert!(passed >= 36, "{act}: {verdicts:?}");
        // Less than the time of one child.
        assert!(
            began.elapsed() < Duration::from_secs(55),
            "{act}: {:?}",
            began.elapsed()
        );
    }
}
