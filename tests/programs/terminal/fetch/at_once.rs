//! Two `fetch` processes in one directory, and a `fetch` after one that was killed.

use super::{command, fetch, installed, listing};
use crate::terminal::{file, folder, must_exit, text};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
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

    let (mut second, mut words) = start(&dir, &[]);
    let mut line = String::new();
    words.read_line(&mut line).expect("a line");
    let waiting = "  i waiting      for another `cudnn-guard fetch` that is running in";
    assert_eq!(line, format!("{waiting} {home}\n"));
    fs::remove_file(dir.join("bin/uv.held")).expect("the installer released");
    assert!(first.wait().expect("exits").success());
    let lines = words.lines().map_while(Result::ok);
    let shown: String = lines.map(|line| line + "\n").collect();
    let installed = format!(
        "  ✓ CUDA toolkit 13.5.37 in {home}/nvidia/cu13\n  \
         ✓ cuDNN        9.28.1.4 in {home}/nvidia/cudnn\n"
    );
    assert!(shown.starts_with(&installed), "{shown}");
    assert!(second.wait().expect("exits").success(), "{shown}");
    let log = fs::read_to_string(dir.join("bin/uv.log")).expect("the calls");
    assert_eq!(log.lines().count(), 1, "{log}");
}

/// Two processes may start at the same moment: the second one finds no temporary directory.
#[test]
fn a_fetch_that_waited_for_the_lock_looks_again() {
    let (dir, other) = (folder("waited"), folder("waited-other"));
    must_exit(&fetch(&other, &[]), 0);
    fs::create_dir_all(dir.join("to")).expect("a directory");
    let mut holder = Command::new("flock");
    holder.arg(dir.join("to/.fetch.lock"));
    let held = holder.args(["sh", "-c", "echo; read line"]);
    let held = held.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut held = held.expect("flock, of util-linux");
    let mut line = String::new();
    let mut taken = BufReader::new(held.stdout.take().expect("its output"));
    taken.read_line(&mut line).expect("a line");
    let (mut second, mut words) = start(&dir, &[]);
    words.read_line(&mut line).expect("a line");
    assert!(line.contains("waiting"), "{line}");
    for entry in fs::read_dir(other.join("to"))
        .expect("a directory")
        .flatten()
    {
        let name = entry.file_name();
        if name != ".fetch.lock" {
            fs::rename(entry.path(), dir.join("to").join(name)).expect("moved");
        }
    }
    drop(held.stdin.take());
    held.wait().expect("exits");
    assert!(second.wait().expect("exits").success());
    assert!(!dir.join("bin/uv.log").exists());
}

/// The directory is no longer empty when the new files are complete.
#[test]
fn a_file_that_appears_during_the_download_stays() {
    let dir = folder("during-the-download");
    let to = dir.join("to");
    fs::create_dir_all(dir.join("bin")).expect("a directory");
    fs::write(dir.join("bin/uv.held"), "").expect("a file");
    let (mut first, _words) = start(&dir, &[]);
    wait_for("the installer's start", || dir.join("bin/uv.pid").exists());
    file(&to, "nvidia/mine", "");
    fs::remove_file(dir.join("bin/uv.held")).expect("the installer released");
    assert_eq!(first.wait().expect("exits").code(), Some(1));
    let left = ["/.fetch.lock", "/nvidia", "/nvidia/mine"];
    let left = left.map(|name| format!("{}{name}", to.display()));
    assert_eq!(listing(&to), left);
}

/// Nothing is left in the system's temporary directory, and no build uses the files that are left.
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
    let names = fs::read_dir(&to).expect("a directory").flatten();
    let names: BTreeSet<_> = names.map(|entry| entry.file_name()).collect();
    let left = [".fetch.lock", ".fetching"].map(OsString::from);
    assert_eq!(names, left.into());
    let environment = fs::read_to_string(dir.join("bin/uv.environment")).expect("the settings");
    let left = format!("\nTMPDIR={}\n", to.join(".fetching/tmp").display());
    assert!(environment.contains(&left), "{environment}");
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
