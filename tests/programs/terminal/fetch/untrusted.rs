//! A directory that contains other things than `fetch` created, and settings of the user.

use super::{command, fetch, installed, listing};
use crate::terminal::{complaint, file, folder, must_exit};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// The marker lists files that `fetch` created, and not whatever is in their place now.
#[test]
fn nothing_is_written_or_removed_through_a_link() {
    let dir = folder("through-links");
    let (to, other) = (dir.join("to"), dir.join("other"));
    for (name, target) in [("nvidia", ""), ("nvidia/cudnn", "cudnn")] {
        let _ = fs::remove_dir_all(&to);
        must_exit(&fetch(&dir, &[]), 0);
        file(&other, "cudnn/lib/libcudnn.so.9", "another");
        fs::remove_dir_all(to.join(name)).expect("removed");
        symlink(other.join(target), to.join(name)).expect("a link");
        let before = (listing(&to), listing(&other));
        let output = fetch(&dir, &["--cuda", "12"]);
        must_exit(&output, 1);
        let shown = complaint(&output);
        assert!(shown.contains(" was not created by cudnn-guard"), "{shown}");
        assert_eq!((listing(&to), listing(&other)), before, "{name}");
    }
}

/// An environment of pip, a directory with other files, and a file that was added later.
#[test]
fn only_the_files_of_fetch_are_replaced() {
    let dir = folder("only-own");
    let to = dir.join("to");
    for name in [
        "own/file",
        "numpy-2.0.dist-info/RECORD",
        "nvidia_cudnn_cu13-9.28.1.4.dist-info/RECORD",
        "nvidia/nccl/lib/libnccl.so.2",
        "nvidia/cublas/mine.h",
        "nvidia/__pycache__/mine",
        ".fetching-notes",
    ] {
        for installs_before in [false, true] {
            let _ = fs::remove_dir_all(&to);
            if installs_before {
                must_exit(&fetch(&dir, &["--cuda", "12"]), 0);
            }
            file(&to, name, "mine");
            let before = listing(&to);
            let output = fetch(&dir, &["--cuda", "13"]);
            // The record of a wheel that `fetch` would install is damaged, and then has another content.
            must_exit(&output, 1);
            let shown = complaint(&output);
            let message = format!(
                "\n`{}` was not created by cudnn-guard",
                to.join(name).display()
            );
            assert!(shown.starts_with(&message), "{shown}");
            assert_eq!(listing(&to), before, "{name}");
        }
    }
    fs::remove_dir_all(&to).expect("removed");
    must_exit(&fetch(&dir, &["--cuda", "12.4"]), 0);
    must_exit(&fetch(&dir, &["--cuda", "13"]), 0);
    assert!(!installed(&to).contains("cu12"), "{}", installed(&to));
}

/// A repository may contain any marker. Files of other names in it are not those of `fetch`.
#[test]
fn a_marker_cannot_give_away_files_of_the_user() {
    let dir = folder("any-marker");
    let to = dir.join("to");
    file(&to, "src/main.rs", "mine");
    file(
        &to,
        ".cudnn-guard",
        ".cudnn-guard\nsrc/main.rs\nnvidia/../src/main.rs\n",
    );
    must_exit(&fetch(&dir, &[]), 1);
    assert!(to.join("src/main.rs").is_file());
}

#[test]
fn pipes_and_endless_files_are_not_read() {
    let dir = folder("endless");
    let to = dir.join("to");
    must_exit(&fetch(&dir, &[]), 0);
    let record = to.join("nvidia_cudnn_cu13-9.28.1.4.dist-info/RECORD");
    fs::remove_file(&record).expect("removed");
    symlink("/dev/zero", &record).expect("a link");
    must_exit(&fetch(&dir, &["--check"]), 1);
    fs::remove_file(&record).expect("removed");
    for path in [record, to.join(".cudnn-guard")] {
        let _ = fs::remove_file(&path);
        let made = Command::new("mkfifo")
            .arg(&path)
            .status()
            .expect("mkfifo runs");
        assert!(made.success());
        must_exit(&fetch(&dir, &["--check"]), 1);
    }
}

/// pip would install elsewhere, or nothing, and uv would link into its cache. An index stays.
#[test]
fn settings_of_the_user_do_not_change_the_installation() {
    let dir = folder("settings");
    let mut command = command(&dir, &[]);
    for name in [
        "PIP_ROOT",
        "PIP_TARGET",
        "PIP_NO_DEPS",
        "PIP_DRY_RUN",
        "PIP_VERBOSE",
        "PIP_CONSTRAINT",
        "PIP_REQUIRE_VIRTUALENV",
        "PIP_INDEX_URL",
        "UV_LINK_MODE",
        "UV_OVERRIDE",
        "UV_INDEX_URL",
        "UV_CACHE_DIR",
        "UV_PYTHON_INSTALL_DIR",
        "HTTPS_PROXY",
    ] {
        command.env(name, "1");
    }
    must_exit(&command.output().expect("it runs"), 0);
    let read = |name: &str| fs::read_to_string(dir.join(name)).expect("a file");
    let environment = read("bin/uv.environment");
    let names = ["HTTPS_PROXY", "PIP_", "UV_"];
    let settings = environment.lines();
    let settings = settings.filter(|line| names.iter().any(|name| line.starts_with(name)));
    assert_eq!(
        settings.collect::<Vec<_>>(),
        [
            "HTTPS_PROXY=1",
            "PIP_INDEX_URL=1",
            "PIP_NO_DEPS=0",
            "PIP_REQUIRE_VIRTUALENV=0",
            "PIP_ROOT_USER_ACTION=ignore",
            "PIP_USER=0",
            "UV_CACHE_DIR=1",
            "UV_INDEX_URL=1",
            "UV_NO_CONFIG=1",
            "UV_PYTHON_INSTALL_DIR=1",
            "UV_SYSTEM_PYTHON=1",
        ]
    );
    let log = read("bin/uv.log");
    assert!(log.starts_with("pip install --link-mode copy "), "{log}");
}

/// A repository that was just cloned may contain a `uv.toml`, a `.venv` or a `pip.py`.
#[test]
fn the_current_directory_does_not_change_the_installation() {
    let dir = folder("current-directory");
    must_exit(&fetch(&dir, &[]), 0);
    let environment = || fs::read_to_string(dir.join("bin/uv.environment")).expect("a file");
    let temporary = dir.join("to/.fetching/tmp").display().to_string();
    let shown = environment();
    assert!(shown.starts_with(&format!("{temporary}\n")), "{shown}");
    assert!(shown.contains("\nPYTHONSAFEPATH=1\n"), "{shown}");

    // An active environment may contain the only Python.
    let mut command = command(&dir, &["--cuda", "12"]);
    let output = command.env("VIRTUAL_ENV", dir.join("env")).output();
    must_exit(&output.expect("it runs"), 0);
    assert!(!environment().contains("UV_SYSTEM_PYTHON"));
}

/// A process may be killed before the new files are complete, while it moves the old files away, and while it moves the
/// new ones in.
#[test]
fn an_interrupted_replacement_is_completed_without_the_network() {
    let dir = folder("interrupted");
    let (to, left) = (dir.join("to"), dir.join("to/.fetching"));
    let fetched = |cuda: &str| {
        let _ = fs::remove_dir_all(&to);
        must_exit(&fetch(&dir, &["--cuda", cuda]), 0);
        let mut names: Vec<_> = fs::read_dir(&to)
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        names.retain(|name| name != ".fetch.lock");
        fs::rename(&to, dir.join(cuda)).expect("moved");
        names
    };
    let (mut old, mut new) = (fetched("12.4"), fetched("13"));
    old.sort_by_key(|name| (name == ".cudnn-guard", name != "nvidia"));
    new.sort_by_key(|name| (name == ".cudnn-guard", name == "nvidia"));
    let calls = || fs::read_to_string(dir.join("bin/uv.log")).expect("the calls");
    let before = calls();
    let copy = |from: &Path, to: &Path| {
        let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
        assert!(copied.expect("cp runs").success());
    };
    for moves in 0..=old.len() + new.len() {
        let _ = fs::remove_dir_all(&to);
        copy(&dir.join("12.4"), &to);
        fs::create_dir_all(left.join("tmp")).expect("a directory");
        copy(&dir.join("13"), &left.join("new"));
        let old = old
            .iter()
            .map(|name| (to.join(name), left.join("tmp").join(name)));
        let new = new
            .iter()
            .map(|name| (left.join("new").join(name), to.join(name)));
        for (from, to) in old.chain(new).take(moves) {
            fs::rename(from, to).expect("moved");
        }
        must_exit(&fetch(&dir, &[]), 0);
        must_exit(&fetch(&dir, &["--check"]), 0);
        assert_eq!(installed(&to), installed(&dir.join("13")), "{moves}");
    }
    // Without their marker, the new files are not complete.
    let whole = listing(&to);
    file(&left, "new/nvidia/incomplete", "");
    file(&left, "new/nvidia_nvvm-13.0.88.dist-info/RECORD", "");
    must_exit(&fetch(&dir, &[]), 0);
    assert_eq!(listing(&to), whole);
    // A file of the user among the old files stays.
    fs::create_dir_all(left.join("tmp")).expect("a directory");
    copy(&dir.join("12.4"), &left.join("new"));
    file(&to, "nvidia/mine", "");
    must_exit(&fetch(&dir, &[]), 1);
    assert!(to.join("nvidia/mine").is_file());
    assert_eq!(calls(), before);
}

/// A directory of this name with other contents is not that of a killed `fetch`.
#[test]
fn a_hand_made_temporary_directory_is_refused_before_the_download() {
    let dir = folder("hand-made");
    let to = dir.join("to");
    fs::create_dir_all(to.join(".fetching/mine")).expect("a directory");
    for notes in [false, true] {
        if notes {
            file(&to, ".fetching/notes", "mine");
        }
        let before = listing(&to);
        let output = fetch(&dir, &[]);
        must_exit(&output, 1);
        let path = to.join(".fetching").display().to_string();
        let message = format!("\n`{path}` was not created by cudnn-guard");
        let shown = complaint(&output);
        assert!(shown.starts_with(&message), "{shown}");
        assert_eq!(listing(&to), before);
    }
}

/// A repository may contain what a killed `fetch` leaves, and a user may create files after one was killed.
#[test]
fn a_killed_fetch_is_not_completed_among_other_files() {
    let dir = folder("unfinished");
    let to = dir.join("to");
    let marker = ".fetching/new/.cudnn-guard";
    let listed = ".cudnn-guard\na.dist-info\nnvidia/f";
    let new = [
        marker,
        ".fetching/new/a.dist-info",
        ".fetching/new/nvidia/f",
    ];
    for (others, new, has_lock) in [
        (&["README", "a.dist-info"][..], &new[..], false),
        (&["README", "a.dist-info"], &new, true),
        (&["a.dist-info"], &new, true),
        (&["nvidia/user"], &new, true),
        (&["README"], &[".fetching/new/thesis"], false),
        (&["README"], &[".fetching/new/thesis"], true),
        (&[], &[".fetching/new/thesis"], false),
    ] {
        let _ = fs::remove_dir_all(&to);
        fs::create_dir_all(to.join(".fetching/tmp")).expect("a directory");
        let lock = has_lock.then_some(".fetch.lock");
        for name in others.iter().chain(new).copied().chain(lock) {
            file(&to, name, if name == marker { listed } else { "mine" });
        }
        let before = listing(&to);
        let output = fetch(&dir, &[]);
        must_exit(&output, 1);
        let shown = complaint(&output);
        assert!(
            shown.contains("` was not created by cudnn-guard"),
            "{shown}"
        );
        assert_eq!(listing(&to), before, "{others:?} {new:?}");
        for name in others {
            let text = fs::read_to_string(to.join(name)).expect("a file");
            assert_eq!(text, "mine", "{name}");
        }
    }
}

/// A repository may contain a temporary directory.
#[test]
fn nothing_is_moved_through_a_temporary_link() {
    let dir = folder("temporary-link");
    let (to, other) = (dir.join("to"), dir.join("other"));
    file(&other, "new/.cudnn-guard", "");
    file(&other, "new/nvidia/mine", "");
    file(&other, "nvidia/mine", "");
    let before = listing(&other);
    fs::create_dir_all(to.join("x")).expect("a directory");
    symlink(&other, to.join(".fetching")).expect("a link");
    must_exit(&fetch(&dir, &[]), 1);
    fs::remove_file(to.join(".fetching")).expect("removed");
    fs::create_dir_all(to.join(".fetching")).expect("a directory");
    symlink(other.join("new"), to.join(".fetching/new")).expect("a link");
    must_exit(&fetch(&dir, &[]), 1);
    assert_eq!(listing(&other), before);
    assert!(!to.join("nvidia/mine").exists());
}
