//! Program threads that call the guard at the same time, or are busy while it works.

use super::{calls, sound, verdict_and_ids};
use crate::support::circumstances::{do_all, library, turns};
use crate::support::scratch;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

#[test]
fn several_threads_check_at_once() {
    let ran = do_all(&["four-checks"], &[]).exits_with(0);
    let verdicts: Vec<String> = ran.stdout.lines().map(verdict_and_ids).collect();
    assert_eq!(verdicts, ["pass "; 4]);
    // A hanging child delays other threads for no longer than its own deadline.
    let hang = [
        ("SIM_FAULT", "hang:cudnnCreate"),
        ("CUDNN_GUARD_DEADLINE", "1"),
    ];
    let began = Instant::now();
    let ran = do_all(&["four-checks"], &hang).exits_with(0);
    let verdicts: Vec<String> = ran.stdout.lines().map(verdict_and_ids).collect();
    assert_eq!(verdicts, ["unknown convolution-timeout"; 4]);
    assert!(began.elapsed() < Duration::from_secs(20));
}

/// glibc allows a stack this small. Before the guard switches to its own stack, it uses almost nothing of the thread's.
#[test]
fn a_thread_with_the_smallest_stack_gets_an_answer() {
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
    assert_eq!(
        [lines[0], lines[1], lines[2]].map(verdict_and_ids),
        ["pass "; 3]
    );
    assert_eq!(lines[3], "went on");
}

/// No thread forks while another one is in the loader, so fifty checks need hardly more than fifty children.
#[test]
fn fifty_threads_that_check_at_once_take_turns() {
    sound(&[]);
    let began = Instant::now();
    let (_, calls, stdout) = calls("child-fifty", &["fifty-checks"]);
    let verdicts: Vec<String> = stdout.lines().map(verdict_and_ids).collect();
    assert_eq!(verdicts, ["pass "; 50]);
    let turns = turns(&calls);
    let children: BTreeSet<u32> = turns.iter().copied().collect();
    assert_eq!(turns.len(), children.len(), "{turns:?}");
    // On a busy machine a child may be too slow and is replaced.
    assert!((50..60).contains(&children.len()), "{}", children.len());
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
}

/// Another thread may hold a lock during the fork, and in the child that lock is never released.
#[test]
fn locks_of_other_threads_do_not_block_checks() {
    let opened = scratch("child-locks").join("libopened.so");
    let code = "#include <unistd.h>
        int one; int *all[2000] = {[0 ... 1999] = &one};
        __attribute__((constructor)) static void wait(void) { usleep(500); }";
    library(code, &opened);
    let opened = ("ODD_LIBRARY", opened.to_str().unwrap());
    for act in ["busy-list", "busy-loader", "busy-allocator"] {
        let began = Instant::now();
        let ran = do_all(&[act, "forty-checks"], &[opened]).exits_with(0);
        let verdicts: Vec<String> = ran.stdout.lines().map(verdict_and_ids).collect();
        // A busy machine may occasionally not run a child in time.
        let passed = verdicts
            .iter()
            .filter(|verdict| *verdict == "pass ")
            .count();
        let late = verdicts
            .iter()
            .filter(|verdict| *verdict == "unknown child-not-started");
        assert_eq!(passed + late.count(), 40, "{act}: {verdicts:?}");
        assert!(passed >= 36, "{act}: {verdicts:?}");
        // Less than the deadline of one child.
        assert!(
            began.elapsed() < Duration::from_secs(55),
            "{act}: {:?}",
            began.elapsed()
        );
    }
}
