//! Two `fetch` processes in one directory, and a `fetch` after one that was killed.

use super::{command, fetch, installed, listing};
use crate::terminal::{folder, must_exit, text};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// Starts a `fetch` and returns its output as a stream.
fn start(dir: &Path, arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut command = command(dir, arguments);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let words = BufReader::new(child.stdout.take().expect("its output"));
    (child, words)
}

#[track_caller]
fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_second_fetch_waits_and_finds_everything_installed() {
    let dir = folder("at-once");
    let home = dir.join("to").display().to_string();
    fs::create_dir_all(dir.join("bin")).expect("a directory");
    fs::write(dir.join("bin/uv.held"), "").expect("a file");
    let (mut first, _first_words) = start(&dir, &[]);
    wait_for("the installer's start", || dir.join("bin/uv.pid").exists());

    let mut others = [start(&dir, &[]), start(&dir, &["--check"])];
    let waiting =
        format!("  i waiting      for another `cudnn-guard fetch` that is running in {home}\n");
    for (_, words) in &mut others {
        let mut line = String::new();
        words.read_line(&mut line).expect("a line");
        assert_eq!(line, waiting);
    }
    fs::remove_file(dir.join("bin/uv.held")).expect("the installer released");
    assert!(first.wait().expect("exits").success());
    let beginnings = [
        format!(
            "  ✓ CUDA toolkit 13.5.37 is installed: {home}/nvidia/cu13\n  \
             ✓ cuDNN        9.28.1.4 is installed: {home}/nvidia/cudnn\n\nNVIDIA's licenses\n"
        ),
        format!(
            "  ✓ CUDA toolkit 13.5.37, 14 files checked: {home}/nvidia/cu13\n  \
             ✓ cuDNN        9.28.1.4, 2 files checked: {home}/nvidia/cudnn\n"
        ),
    ];
    for ((mut child, words), beginning) in others.into_iter().zip(beginnings) {
        let lines = words.lines().map_while(Result::ok);
        let shown: String = lines.map(|line| line + "\n").collect();
        assert!(shown.starts_with(&beginning), "{shown}");
        assert!(child.wait().expect("exits").success(), "{shown}");
    }
    let log = fs::read_to_string(dir.join("bin/uv.log")).expect("the calls");
    assert_eq!(log.lines().count(), 2, "{log}");
}

/// Both processes search before either creates the lock file.
#[test]
fn two_that_find_nothing_download_once() {
    let dir = folder("at-once-first");
    fs::create_dir_all(dir.join("bin")).expect("a directory");
    fs::write(dir.join("bin/uv.asked"), "").expect("a file");
    let both = [
        start(&dir, &["--cudnn", "9.28"]),
        start(&dir, &["--cudnn", "9.28"]),
    ];
    let questions = || fs::read_to_string(dir.join("bin/uv.questions")).unwrap_or_default();
    wait_for("both questions", || questions().lines().count() == 2);
    fs::remove_file(dir.join("bin/uv.asked")).expect("the answers released");
    let mut shown: Vec<String> = both
        .into_iter()
        .map(|(mut child, words)| {
            let shown: Vec<String> = words.lines().map_while(Result::ok).collect();
            assert!(child.wait().expect("exits").success(), "{shown:?}");
            shown.join("\n")
        })
        .collect();
    shown.sort_by_key(|shown| shown.contains("fetching"));
    assert_eq!(shown[0].matches(" is installed: ").count(), 2, "{shown:?}");
    assert_eq!(shown[1].matches("  fetching ").count(), 2, "{shown:?}");
    let log = fs::read_to_string(dir.join("bin/uv.log")).expect("the calls");
    assert_eq!(log.lines().count(), 2, "{log}");
}

#[test]
fn a_killed_fetch_does_not_block_others_and_its_files_are_removed() {
    let dir = folder("killed");
    let to = dir.join("to");
    fs::create_dir_all(dir.join("bin")).expect("a directory");
    fs::write(dir.join("bin/uv.held"), "").expect("a file");
    let (mut first, _words) = start(&dir, &[]);
    let pid = dir.join("bin/uv.pid");
    wait_for("the installer's start", || pid.exists());
    first.kill().expect("killed");
    first.wait().expect("exits");
    let left = format!("{}/.fetching-{}", to.display(), first.id());
    assert!(listing(&to).contains(&left));
    // Files of a process that no longer exists, and of one whose id is in use, perhaps in another container.
    fs::create_dir_all(to.join(".fetching-1/old/nvidia")).expect("a directory");
    if cfg!(target_os = "linux") {
        let pid = fs::read_to_string(&pid).expect("the installer's process id");
        let stat = format!("/proc/{}/stat", pid.trim());
        let is_gone = || fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        wait_for("the installer's end", is_gone);
    }

    fs::remove_file(dir.join("bin/uv.held")).expect("the next is released");
    let output = fetch(&dir, &[]);
    must_exit(&output, 0);
    assert!(!text(&output).contains("waiting"), "{}", text(&output));
    assert!(!installed(&to).contains(".fetching"), "{}", installed(&to));
}
