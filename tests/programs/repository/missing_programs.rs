//! The message of a test whose program is not installed.

use crate::support::run;
use std::process::Command;

/// Returns the message of a test that runs this program, with nothing on PATH.
fn message(program: &'static str, dir: &'static str) -> String {
    let start = || {
        run(Command::new(program)
            .env("PATH", "/nowhere")
            .current_dir(dir))
    };
    let panicked = std::panic::catch_unwind(start).unwrap_err();
    *panicked.downcast().unwrap()
}

#[test]
fn a_missing_program_is_named_with_its_package() {
    for (program, package) in [("g++", "g++"), ("readelf", "binutils")] {
        assert_eq!(
            message(program, "/"),
            format!("{program} is not installed: run `apt install {package}`")
        );
    }
    let message = message("g++", "/nowhere");
    assert!(message.ends_with("os error 2)"), "{message}");
}
