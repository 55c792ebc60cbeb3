//! How programs with a guard are started, and what the guard and `inspect` report.

use super::farm::Farm;
use super::judged::{Start, windows};
use crate::support::repository;
use crate::windows::wine::windows::Windows;
use serde_json::Value;
use std::fs;

/// Paragraphs of a name, the directories below `C:\` and the start of the program, and the findings except the missing
/// driver. `inspect` follows if its findings are different. `fixed by` makes the program start without findings. `BLESS=1`
/// writes the findings.
const SETUPS: &str = include_str!("setups.txt");

const NO_DRIVER: &str = "\
cudnn-guard: unknown: `nvcuda.dll`, the library of NVIDIA's driver, cannot be opened, so no GPU can be used  [driver-missing]
  = help: install NVIDIA's driver, or run on a machine that has a GPU
  loader      nvcuda.dll: Module not found. (os error 126)
";

/// Creates the directories, and returns how the program is started.
fn follow(windows: &Windows, steps: &str) -> Start {
    let mut start = None;
    let steps = steps.replace("LONG", &"d".repeat(48));
    for step in steps.lines().filter_map(|line| line.strip_prefix("> ")) {
        let (name, words) = step.split_once(':').unwrap();
        let words = words.trim_start();
        if ["nine", "eight"].contains(&name) {
            start = Some((name, words));
        } else {
            Farm::of(windows, name, words);
        }
    }
    let (program, words) = start.unwrap();
    Start::parse(windows, program, words)
}

/// Returns the headlines and helps of a report, without notes and the missing driver.
fn findings(report: &Value) -> String {
    let mut text = String::new();
    for finding in report["findings"].as_array().unwrap() {
        let word = |key: &str| finding[key].as_str().unwrap();
        if word("id") == "driver-missing" || word("severity") == "note" {
            continue;
        }
        if word("severity") == "warning" {
            text += "warning: ";
        }
        text += &format!("{}  [{}]\n", word("summary"), word("id"));
        for help in finding["help"].as_array().unwrap() {
            text += &format!("  = help: {}\n", help.as_str().unwrap());
        }
    }
    text
}

/// Starts the program, and returns the findings of its guard and of `inspect`, and these lines, which the guard must
/// print.
fn reported<'a>(
    windows: &Windows,
    start: &Start,
    evidence: impl Iterator<Item = &'a str>,
) -> String {
    let (ran, report) = start.startup(windows);
    let mut text = findings(&report);
    let headline = text.lines().next().unwrap_or_default();
    let headline = headline.trim_start_matches("warning: ");
    let (code, stdout, stderr) = match report["verdict"].as_str().unwrap() {
        "fail" => (78, "", headline),
        _ => (0, "went on\n", "cudnn-guard: unknown: "),
    };
    assert_eq!((ran.code, &*ran.stdout), (Some(code), stdout));
    let is_reported = ran.stderr.starts_with(stderr) && ran.stderr.contains(headline);
    assert!(is_reported, "no {headline} in {}", ran.stderr);
    if text.is_empty() {
        assert_eq!(ran.stderr, NO_DRIVER);
    }
    let found = text.clone();
    for line in evidence {
        assert!(ran.stderr.contains(line), "{line} in {}", ran.stderr);
        text += &format!("{line}\n");
    }
    // The actions of a program before the check are not visible in its files.
    if start.is_plain() {
        let inspected = findings(&start.inspected(windows));
        if inspected != found {
            text += &format!("inspect\n{inspected}");
        }
    }
    text
}

/// Returns the paragraph with the findings as reported.
fn checked(windows: &Windows, setup: &str) -> String {
    let (broken, fixes) = setup.split_once("\nfixed by\n").unwrap_or((setup, ""));
    let (name, lines) = broken.split_once('\n').unwrap();
    let lines = lines.split("\ninspect\n").next().unwrap();
    let lines_with = |prefix: &str| -> String {
        let lines = lines.lines().filter(|line| line.starts_with(prefix));
        lines.map(|line| format!("{line}\n")).collect()
    };
    let steps = lines_with("> ");
    let evidence = lines_with("  ");
    let evidence = evidence.lines();
    let evidence = evidence.filter(|line| !line.starts_with("  = help: "));
    let found = reported(windows, &follow(windows, &steps), evidence);
    let mut text = format!("{name}\n{steps}{found}");
    for fix in fixes.split("\nfixed by\n").filter(|fix| !fix.is_empty()) {
        let start = follow(windows, &format!("{steps}{fix}"));
        assert_eq!(
            reported(windows, &start, [].into_iter()),
            "",
            "{name}: {fix}"
        );
        text += &format!("fixed by\n{fix}\n");
    }
    for step in steps.lines() {
        let dir = step[2..].split(':').next().unwrap().replace('\\', "/");
        let _ = fs::remove_dir_all(windows.drive().join(dir));
    }
    text.trim_end().to_string()
}

#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn the_guard_and_inspect_report_each_setup() {
    let windows = &*windows();
    let setups: Vec<&str> = SETUPS.trim_end().split("\n\n").collect();
    let found: Vec<String> = setups.iter().map(|setup| checked(windows, setup)).collect();
    if std::env::var_os("BLESS").is_some() {
        let file = repository().join("tests/programs/windows/real_wine/setups.txt");
        fs::write(file, found.join("\n\n") + "\n").unwrap();
        return;
    }
    assert_eq!(found, setups, "BLESS=1 writes the findings");
}
