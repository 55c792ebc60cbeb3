//! Texts that name a command, file or variable of Linux.

use super::sources::shipped;
use std::collections::BTreeMap;

const WORDS: [&str; 15] = [
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "apt ",
    "chmod",
    "dmesg",
    "dnf ",
    "docker ",
    "g++-",
    "ldconfig",
    "libcuda.so",
    "libcudnn",
    "modprobe",
    "rpath",
    "setuid",
    "sudo ",
];
/// Code that selects a text by the system, at most this many lines before it.
const SELECTS: [&str; 6] = [
    "by_system!(",
    "cfg!(windows)",
    "Os::Windows",
    "Os::Linux",
    "is_dll",
    "Request::Dll",
];
const BEFORE: usize = 6;

/// Texts that no code selects by the system, with the reason why Windows does not show them.
const LISTED: &str = include_str!("linux_texts.txt");

/// Each text that names something of Linux stands beside one for Windows, or is listed.
#[test]
fn texts_that_name_something_of_linux_are_not_for_windows() {
    let mut found = BTreeMap::new();
    let mut selected = 0;
    for (file, code) in shipped() {
        if !file.contains("/messages/") {
            continue;
        }
        let lines: Vec<&str> = code.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            if !WORDS.iter().any(|word| line.contains(word)) {
                continue;
            }
            let before = &lines[at.saturating_sub(BEFORE)..=at];
            let selects = |line: &&str| SELECTS.iter().any(|code| line.contains(code));
            if before.iter().any(selects) {
                selected += 1;
            } else {
                *found.entry(file.clone()).or_insert(0) += 1;
            }
        }
    }
    let listed = LISTED.lines().filter(|line| !line.starts_with('#'));
    let listed: BTreeMap<String, i32> = listed
        .map(|line| {
            let mut words = line.split_whitespace();
            let file = words.next().unwrap().to_string();
            let count = words.next().unwrap().parse().unwrap();
            assert!(words.count() > 3, "no reason: {line}");
            (file, count)
        })
        .collect();
    assert!(selected >= 15, "{selected}");
    assert_eq!(
        found, listed,
        "add the reason to linux_texts.txt, or add a text for Windows"
    );
}
