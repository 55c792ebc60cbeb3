//! Tests `cudnn-guard doctor` on installations that are broken like those of real users. The first screen must show a
//! newcomer the cause and the fix, and after the fix, the doctor must no longer report that cause.
//!
//! The screens are in `newcomer/*.txt`; `BLESS=1` updates them.

pub mod machine;
mod stacks;

use crate::support::builds::{cudnn, wheel};
use crate::support::repository;
use machine::Machine;
use stacks::{STACKS, Stack};
use std::fs;
use std::path::Path;

/// The number of lines of a default terminal.
const SCREEN: usize = 24;

/// Returns the text that a terminal of 80 columns shows before it scrolls.
fn first_screen(text: &str) -> String {
    let mut screen = String::new();
    let mut rows = 0;
    for line in text.lines() {
        rows += line.chars().count().div_ceil(80).max(1);
        if rows > SCREEN {
            break;
        }
        screen.push_str(line);
        screen.push('\n');
    }
    screen
}

/// Joins the words of a text with single spaces, without line breaks.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Compares a screen with the file of that name.
fn differs(name: &str, screen: &str) -> bool {
    let file = repository().join(format!("tests/programs/terminal/newcomer/{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, screen).unwrap();
    }
    fs::read_to_string(&file).unwrap_or_default() != screen
}

/// Checks the output of the doctor for an installation, and adds its faults to `wrong`.
fn examine(stack: &Stack, wrong: &mut Vec<String>) {
    let mut machine = (stack.made)();
    let (output, _) = machine.doctor(&[]);
    let screen = first_screen(&output);
    let shown = plain(&screen);
    let cause = format!("[{}]", stack.cause);
    for wanted in [&cause, stack.fault, stack.help] {
        if !shown.contains(wanted) {
            wrong.push(format!(
                "{}: {wanted:?} is not on the first screen",
                stack.name
            ));
        }
    }
    if machine.is_alone() && differs(stack.name, &screen) {
        wrong.push(format!("{}: BLESS=1 writes this:\n{screen}", stack.name));
    }
    if let Some(done) = stack.done {
        done(&mut machine);
        let (output, code) = machine.doctor(&[]);
        if code != Some(0) || output.contains(&cause) {
            wrong.push(format!(
                "{}: the help does not fix it:\n{output}",
                stack.name
            ));
        }
    }
}

#[test]
fn the_first_screen_shows_a_newcomer_the_cause_and_the_fix() {
    let mut wrong = Vec::new();
    for stack in STACKS {
        examine(stack, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rest of the output depends on this machine: a container, WSL, NixOS.
#[test]
fn a_missing_driver_is_reported_first() {
    let mut machine = Machine::with_gpu();
    machine.set_to("LD_LIBRARY_PATH", &["cuda/lib64"]);
    let (json, _) = machine.doctor(&["--json"]);
    if json.contains("\"driver\":null") && !Path::new("/dev/dxg").exists() {
        let (output, _) = machine.doctor(&[]);
        let screen = first_screen(&output);
        let [headline, help] = ["`libcuda.so.1`", "= help: "].map(|text| screen.find(text));
        let toolkit = screen.find("toolkit   CUDA 13.0");
        assert!(
            headline.is_some() && headline < help && help < toolkit,
            "{output}"
        );
        assert!(screen.contains("[driver-missing]"), "{output}");
        // Apptainer's containers inherit the variables of a pod.
        if !Path::new("/.singularity.d").exists() {
            machine.set("KUBERNETES_SERVICE_HOST", "10.0.0.1");
            let (in_pod, _) = machine.doctor(&[]);
            assert!(
                in_pod.contains("= help: request the resource `nvidia.com/gpu` for the pod"),
                "{in_pod}"
            );
        }
    }
}

/// A report for an issue contains neither the user name nor the home directory.
#[test]
fn a_report_for_an_issue_contains_nothing_private() {
    let mut machine = Machine::image(true);
    wheel(&machine.at("me/venv"), 12, (9, 10, 2));
    machine.set_to("VIRTUAL_ENV", &["me/venv"]);
    cudnn(&machine.at("opt/cudnn/joe"), (9, 14, 0), false);
    machine.set_to("CUDNN_PATH", &["opt/cudnn/joe"]);
    machine.set("USER", "joe");
    let (output, code) = machine.doctor(&["--markdown", "--redact"]);
    let version = format!("cudnn-guard {} ", env!("CARGO_PKG_VERSION"));
    let output = output.replace(&version, "cudnn-guard VERSION ");
    assert!(
        !differs("for-an-issue", &output),
        "BLESS=1 writes this:\n{output}"
    );
    assert_eq!(code, Some(0));
    let (json, _) = machine.doctor(&["--json", "--redact"]);
    assert!(
        json.contains("\"~/venv/") && !json.contains("joe"),
        "{json}"
    );
}
