//! The terminal program, run as a person runs it.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod demo;
#[cfg(unix)]
pub mod dependencies;
pub mod doctor;
pub mod explain;
pub mod fetch;
pub mod init;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod inspect;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod machine;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod newcomer;
pub mod pkg_config;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod rows;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod run;
pub mod targets;

use serde_json::Value;
use std::fs;
#[cfg(unix)]
use std::io::Write;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Stdio;
use std::process::{Command, Output};

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let path = crate::support::temporary().join("terminal").join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder");
    path
}

fn file(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("its folder");
    fs::write(path, text).expect("a file");
}

/// Runs with nothing of this machine's environment. JSON must match the schema.
fn cudnn_guard(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .args(arguments)
        .env_clear()
        .env("HOME", "/nowhere")
        .output()
        .expect("cudnn-guard runs");
    if arguments.contains(&"--json") && !output.stdout.is_empty() {
        crate::support::schema::valid(&text(&output));
    }
    output
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Returns the standard error of a program.
fn complaint(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

#[track_caller]
fn must_exit(output: &Output, code: i32) {
    assert_eq!(
        output.status.code(),
        Some(code),
        "{}{}",
        text(output),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn ids(json: &Value) -> Vec<&str> {
    json["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|finding| finding["severity"] == "error")
        .filter_map(|finding| finding["id"].as_str())
        .collect()
}

#[test]
fn a_command_line_that_is_wrong_exits_with_2() {
    for arguments in [
        &[][..],
        &["nonsense"],
        &["doctor", "--nonsense"],
        &["doctor", "--cuda", "new"],
        &["doctor", "--cudnn", "9;1"],
        &["doctor", "--root", "/nowhere/at/all"],
        &["fetch", "--cuda", "thirteen"],
        &["fetch", "--cudnn", "9.1.2.3"],
        &["fetch", "--check", "--cudnn", "9.1"],
    ] {
        must_exit(&cudnn_guard(arguments), 2);
    }
}

/// Types lines with tabs into an interactive bash.
#[cfg(unix)]
#[test]
fn bash_completes_commands_ids_values_and_files() {
    let dir = folder("completions");
    file(&dir, "appendix", "");
    file(
        &dir,
        "script",
        &text(&cudnn_guard(&["completions", "bash"])),
    );
    let lines = [
        ("cudnn-guard comp\tzs\t | head -n 1", "#compdef cudnn-guard"),
        ("cudnn-guard explain no-gp\t | head -n 1", "no-gpu"),
        (
            "cudnn-guard fetch --color nev\t--wi\tcuf\t --help | head -n 1",
            "Install CUDA",
        ),
        (
            "cudnn-guard run appe\t",
            "cudnn-guard: no such program: \"appendix\"",
        ),
        ("cudnn-guard inspect appe\t", "`appendix` is empty"),
    ];
    let typed: String = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
    let program = Path::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-i"]).current_dir(&dir).env_clear();
    let programs = program.parent().expect("a folder").display();
    bash.env("PATH", format!("{programs}:/usr/bin:/bin"));
    bash.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = bash.spawn().expect("bash runs");
    let mut input = running.stdin.take().expect("a pipe");
    write!(input, "set -o emacs; source ./script\n{typed}").expect("bash reads");
    drop(input);
    let output = running.wait_with_output().expect("bash ends");
    let shown = text(&output) + &complaint(&output);
    for (line, expected) in lines {
        let is_printed = shown.lines().any(|line| line.starts_with(expected));
        assert!(is_printed, "{line:?}\n{shown}");
    }
    assert!(shown.contains(" --color never --with cufft "), "{shown}");
}

#[test]
fn every_message_is_as_wide_as_the_terminal() {
    for columns in [60, 100] {
        for arguments in [
            &["targets", "hoper"][..],
            &["targets", "120", "--cuda", "12.4"],
            &["targets", "80", "--cuda", "99"],
            &["fetch", "--check", "--to", "/nowhere/at/all"],
            &["explain", "unknown_words_without_a_meaning"],
            &["explain"],
        ] {
            let output = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
                .args(arguments)
                .env_clear()
                .env("COLUMNS", columns.to_string())
                .output()
                .expect("cudnn-guard runs");
            let shown = text(&output) + &complaint(&output);
            let widths = shown.lines().map(|line| line.chars().count());
            let widest = widths.max().unwrap_or(0);
            assert!((50..=columns).contains(&widest), "{arguments:?}: {shown}");
        }
    }
}

#[test]
fn an_invalid_version_is_rejected_with_the_valid_forms() {
    let valid = [
        ("targets", "12"),
        ("targets", "12.4"),
        ("fetch", "12.4"),
        ("doctor", ">=12.4"),
    ];
    for (command, version) in valid {
        must_exit(&cudnn_guard(&[command, "--cuda", version, "--help"]), 0);
    }
    for row in [
        "targets --cuda <VERSION> 12.4.1: write it as 13 or 13.0",
        "targets --cuda <VERSION> >=12.4: write it as 13 or 13.0",
        "fetch --cuda <VERSION> ^12: write it as 13 or 13.0, from 11 to 13",
        "fetch --cuda <VERSION> 10: write it as 13 or 13.0, from 11 to 13",
        "fetch --cudnn <VERSION> >=9: write it as 9, 9.14 or 9.14.0",
        "doctor --cuda <REQ> new: unexpected character 'n' while parsing major version number",
    ] {
        let (line, help) = row.split_once(": ").unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let [command, option, value, invalid] = words[..] else {
            panic!("{row}");
        };
        let output = cudnn_guard(&[command, option, invalid]);
        must_exit(&output, 2);
        let expected = format!(
            "error: invalid value '{invalid}' for '{option} {value}': {help}\n\nFor more information, try '--help'.\n"
        );
        assert_eq!(complaint(&output), expected);
    }
}

#[test]
fn a_text_has_the_requested_width() {
    for (columns, least, most) in [
        ("30", 30, 40),
        ("100", 90, 100),
        ("400", 110, 120),
        ("", 70, 80),
    ] {
        for arguments in [["explain", "driver-missing"], ["doctor", "--help"]] {
            let mut program = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
            program.args(arguments).env_clear().env("COLUMNS", columns);
            let page = text(&program.output().expect("cudnn-guard runs"));
            // Commands in a page are not broken.
            let is_command = |line: &&str| line.contains(['`', '/']) || line.starts_with("    ");
            let is_page = arguments[0] == "explain";
            let prose = page.lines().filter(|line| !(is_page && is_command(line)));
            let widest = prose.map(|line| line.chars().count()).max().unwrap_or(0);
            let is_right = (least..=most).contains(&widest);
            assert!(is_right, "{arguments:?} {columns}: {widest}");
        }
    }
}

#[test]
fn colors_are_as_requested() {
    let is_colored = |arguments: &[&str], variable: &str| {
        let page = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
            .args(arguments)
            .env_clear()
            .env(variable, "1")
            .output()
            .expect("cudnn-guard runs");
        text(&page).contains('\u{1b}')
    };
    assert!(!is_colored(&["explain", "no-gpu"], "NOTHING"));
    assert!(is_colored(&["explain", "no-gpu"], "CLICOLOR_FORCE"));
    assert!(is_colored(
        &["--color", "always", "explain", "no-gpu"],
        "NO_COLOR"
    ));
    assert!(!is_colored(
        &["explain", "no-gpu", "--color=never"],
        "CLICOLOR_FORCE"
    ));
    assert!(is_colored(&["--help"], "CLICOLOR_FORCE"));
    assert!(!is_colored(&["fetch", "--help"], "NOTHING"));
    let mut help = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    help.args(["run", "--help"]).env_clear();
    let help = help.env("CLICOLOR_FORCE", "1").output();
    let help = text(&help.expect("cudnn-guard runs"));
    assert!(
        help.contains("\n\u{1b}[1mExit codes:\u{1b}[0m\n  78 "),
        "{help}"
    );
}

#[test]
fn each_command_has_a_page_for_man() {
    let dir = folder("manual");
    must_exit(&cudnn_guard(&["manual", dir.to_str().expect("text")]), 0);
    let help = text(&cudnn_guard(&["--help"]));
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    // The lines that go on with what a command is for are indented further.
    let names = commands.filter_map(|line| {
        line.strip_prefix("  ")
            .filter(|name| !name.starts_with(' '))
    });
    for command in names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
    {
        let page =
            fs::read_to_string(dir.join(format!("cudnn-guard-{command}.1"))).expect("a page");
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"] {
            let heading = format!(".SH {section}\n");
            assert_eq!(page.matches(&heading).count(), 1, "{section}: {page}");
        }
        assert!(page.contains("\nExamples:\n"), "{page}");
    }
    let refused = cudnn_guard(&["manual", "/dev/null/pages"]);
    must_exit(&refused, 1);
}
