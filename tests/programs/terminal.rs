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
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod loader;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod machine;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub mod newcomer;
pub mod pkg_config;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod run;
pub mod targets;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
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
        &["demo", "more"],
    ] {
        must_exit(&cudnn_guard(arguments), 2);
    }
}

/// The shell itself is asked to complete a line.
#[cfg(unix)]
#[test]
fn a_shell_completes_commands_and_options() {
    let script = text(&cudnn_guard(&["completions", "bash"]));
    for (line, completed) in [
        ("cudnn-guard doc", "doctor"),
        ("cudnn-guard fetch --che", "--check"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let [.., before, last] = *words else {
            panic!("{line}")
        };
        let ask = format!(
            "{script}\nCOMP_WORDS=({line}); COMP_CWORD={}; \
             function=$(complete -p cudnn-guard | sed 's/.* -F \\([^ ]*\\) .*/\\1/'); \
             \"$function\" cudnn-guard {last} {before}; echo \"${{COMPREPLY[@]}}\"",
            words.len() - 1
        );
        let output = Command::new("bash")
            .args(["-c", &ask])
            .output()
            .expect("bash runs");
        assert_eq!(text(&output), format!("{completed}\n"), "{output:?}");
    }
}

#[test]
fn a_text_has_the_requested_width() {
    for (columns, least, most) in [
        ("30", 50, 60),
        ("100", 90, 100),
        ("400", 110, 120),
        ("", 70, 80),
    ] {
        let page = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
            .args(["explain", "driver-missing"])
            .env_clear()
            .env("COLUMNS", columns)
            .output()
            .expect("cudnn-guard runs");
        let page = text(&page);
        let prose = page
            .lines()
            .filter(|line| !line.contains(['`', '/']) && !line.starts_with("    "));
        let widest = prose.map(|line| line.chars().count()).max().unwrap_or(0);
        assert!((least..=most).contains(&widest), "{columns}: {widest}");
    }
}

#[test]
fn the_help_is_as_wide_as_the_texts() {
    for (columns, least, most) in [("60", 50, 60), ("400", 110, 120), ("", 70, 80)] {
        let help = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
            .args(["doctor", "--help"])
            .env_clear()
            .env("COLUMNS", columns)
            .output()
            .expect("cudnn-guard runs");
        let help = text(&help);
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(
            (least..=most).contains(&widest.unwrap_or(0)),
            "{columns}: {widest:?}"
        );
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
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    let refused = cudnn_guard(&["manual", "/dev/null/pages"]);
    must_exit(&refused, 1);
}
