//! A stderr that waits for a reader or raises a signal. The guard prints to it, and the program continues.

use crate::support::Ran;
use crate::support::circumstances::{command, end_of, installed};
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The acts that replace stderr, or make a write to it fail or wait.
const STREAMS: &[&str] = &[
    "stderr-of-no-reader",
    "stderr-at-limit",
    "full-stderr",
    "full-terminal",
    "stopped-terminal",
    "locked-stderr",
];
/// The guard writes two messages, and waits a second for each.
const MOST: Duration = Duration::from_secs(10);
const SIGCHLD: u64 = 1 << 16;

/// A program on a machine without a driver, about which the guard prints a message.
fn without_driver(acts: &[&str]) -> Command {
    command(acts, &[installed((9, 14, 0)).join("lib64")])
}

/// Runs a program with a closed stdin. A program that does not end is killed, and has no exit code.
#[track_caller]
fn run(mut command: Command) -> Ran {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    end_of(command.spawn().unwrap(), MOST).0
}

#[test]
fn no_stderr_ends_or_stops_a_program() {
    let mut wrong = Vec::new();
    for act in STREAMS {
        // Rust ignores SIGPIPE; other programs do not.
        let acts = ["die-of-pipes", act, "startup", "went-on"];
        let ran = run(without_driver(&acts));
        if ran.code != Some(0) || ran.stdout != "went on\n" {
            wrong.push(format!("{act}: {:?}", ran.code));
        }
        // The guard itself stops this program.
        let mut stopped = without_driver(&acts);
        stopped.env("CUDNN_GUARD_REQUIRE_GPU", "1");
        let ran = run(stopped);
        if ran.code != Some(78) {
            wrong.push(format!("{act}, stopped: {:?}", ran.code));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The mask and the pending signals are those of before, also if the write raised a signal.
#[test]
fn signals_stay_as_they_were() {
    let of = |acts: &[&str]| run(without_driver(acts)).exits_with(0).stdout;
    for stream in ["stderr-of-no-reader", "stderr-at-limit"] {
        assert_eq!(of(&[stream, "startup", "tell-signals"]), "0 0\n");
        let pending = of(&[
            "die-of-pipes",
            "pending-signal",
            stream,
            "startup",
            "tell-signals",
        ]);
        assert_eq!(pending, "1000 1000\n", "{stream}");
        let blocked = of(&["block-signals", stream, "startup", "tell-signals"]);
        // The end of the child is pending too.
        let pending = blocked.trim_end().split_once(' ').unwrap().1;
        let pending = u64::from_str_radix(pending, 16).unwrap();
        assert_eq!(pending & !SIGCHLD, 0, "{stream}");
    }
}

/// A reader that is late gets the complete message.
#[test]
fn a_late_reader_gets_the_message() {
    let expected = run(without_driver(&["startup"])).stderr.into_bytes();
    assert!(expected.len() > 100);
    let mut command = without_driver(&["startup"]);
    command.env("CUDNN_GUARD_ALLOW", "x".repeat(100_000));
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_millis(300));
    let mut text = Vec::new();
    child.stderr.take().unwrap().read_to_end(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(text.ends_with(&expected), "{} bytes", text.len());
    assert!(text.len() > 100_000);
}
