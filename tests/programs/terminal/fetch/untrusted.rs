//! A directory that contains other things than `fetch` created, and settings of the user.

use super::{command, fetch, installed, listing};
use crate::terminal::{complaint, file, folder, must_exit};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

/// The names in `.cudnn-guard` are those of directories that `fetch` created, and not of whatever has these names now.
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
        let message = format!(
            "\n`{}/{name}` was not created by cudnn-guard, so `fetch` does not change it  [fetch-failed]\n",
            to.display()
        );
        assert!(
            complaint(&output).starts_with(&message),
            "{}",
            complaint(&output)
        );
        assert_eq!((listing(&to), listing(&other)), before, "{name}");
    }
}

/// The files that `pip install --target` added stay, and so do files with other names.
#[test]
fn only_the_files_of_fetch_are_replaced() {
    let dir = folder("only-own");
    let to = dir.join("to");
    file(&to, "own/file", "");
    file(&to, "numpy-2.0.dist-info/RECORD", "");
    must_exit(&fetch(&dir, &["--cuda", "12.4"]), 0);
    must_exit(&fetch(&dir, &["--cuda", "13"]), 0);
    assert!(to.join("own/file").is_file() && to.join("numpy-2.0.dist-info/RECORD").is_file());
    assert!(!installed(&to).contains("cu12"), "{}", installed(&to));
    file(&to, "nvidia/nccl/lib/libnccl.so.2", "");
    let before = listing(&to);
    must_exit(&fetch(&dir, &["--cuda", "12.4"]), 1);
    assert_eq!(listing(&to), before);
}

/// Older versions of `fetch` did not list the records of wheels, and created links that they did not list.
#[test]
fn an_installation_of_an_older_version_is_replaced() {
    let dir = folder("older");
    let to = dir.join("to");
    must_exit(&fetch(&dir, &[]), 0);
    let whole = installed(&to);
    file(&to, ".cudnn-guard", "nvidia/cu13\nnvidia/cudnn\n");
    fs::remove_file(to.join("nvidia/cudnn/lib/libnvidia_cudnn_cu13.so.1")).expect("removed");
    must_exit(&fetch(&dir, &[]), 0);
    assert_eq!(installed(&to), whole);
    must_exit(&fetch(&dir, &["--check"]), 0);
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

/// pip would install elsewhere, or nothing, and uv would link into its cache.
#[test]
fn settings_of_the_user_do_not_change_the_installation() {
    let dir = folder("settings");
    let mut command = command(&dir, &[]);
    for name in ["PIP_ROOT", "PIP_NO_DEPS", "PIP_DRY_RUN"] {
        command.env(name, "1");
    }
    must_exit(&command.output().expect("it runs"), 0);
    let read = |name: &str| fs::read_to_string(dir.join(name)).expect("a file");
    let settings = read("bin/uv.settings");
    assert!(
        settings.ends_with("/tmp PIP_ROOT= PIP_NO_DEPS=0 PIP_DRY_RUN=0\n"),
        "{settings}"
    );
    let log = read("bin/uv.log");
    assert!(log.starts_with("pip install --link-mode copy "), "{log}");
}

/// A repository that was just cloned may contain a `uv.toml`, a `.venv` or a `pip.py`.
#[test]
fn the_current_directory_does_not_change_the_installation() {
    let dir = folder("current-directory");
    must_exit(&fetch(&dir, &[]), 0);
    let places = fs::read_to_string(dir.join("bin/uv.places")).expect("a file");
    let temporary = dir.join("to/.fetching-").display().to_string();
    assert!(places.starts_with(&temporary), "{places}");
    let settings = " PYTHONSAFEPATH=1 UV_NO_CONFIG=1 UV_SYSTEM_PYTHON=1\n";
    assert!(places.ends_with(settings), "{places}");

    // An active environment may contain the only Python.
    let mut command = command(&dir, &["--cuda", "12"]);
    let output = command.env("VIRTUAL_ENV", dir.join("env")).output();
    must_exit(&output.expect("it runs"), 0);
    let places = fs::read_to_string(dir.join("bin/uv.places")).expect("a file");
    assert!(places.ends_with(" UV_SYSTEM_PYTHON=\n"), "{places}");
}

/// Files that look like those of `fetch`.
#[test]
fn what_fetch_did_not_record_is_not_moved() {
    let dir = folder("unrecorded");
    let (to, other) = (dir.join("to"), dir.join("other"));
    file(&other, "libcudnn.so.9", "mine");
    for installs_before in [false, true] {
        for name in [
            "cudnn/lib",
            "cublas/lib",
            "mine/lib",
            "__init__.py",
            "__pycache__",
        ] {
            let _ = fs::remove_dir_all(&to);
            if installs_before {
                must_exit(&fetch(&dir, &["--cuda", "12"]), 0);
            }
            let path = to.join("nvidia").join(name);
            let _ = fs::remove_dir_all(to.join("nvidia/cudnn"));
            let _ = fs::remove_dir_all(to.join("nvidia/cublas"));
            let _ = fs::remove_file(&path);
            match name {
                "__init__.py" => file(&to, "nvidia/__init__.py", "mine"),
                "__pycache__" => file(&to, "nvidia/__pycache__/mine", ""),
                _ => {
                    file(
                        &to,
                        &format!("nvidia/{}/mine.h", &name[..name.len() - 4]),
                        "",
                    );
                    symlink(&other, &path).expect("a link");
                }
            }
            let is_recorded =
                installs_before && ["cudnn/lib", "cublas/lib", "__init__.py"].contains(&name);
            let before = listing(&to);
            let output = fetch(&dir, &["--cuda", "13"]);
            must_exit(&output, i32::from(!is_recorded));
            if !is_recorded {
                assert_eq!(listing(&to), before, "{name}");
                let shown = complaint(&output);
                assert!(shown.contains(" was not created by cudnn-guard"), "{shown}");
            }
        }
    }
    // A repository may contain any list.
    let _ = fs::remove_dir_all(&to);
    file(&to, "src/main.rs", "mine");
    file(&to, ".cudnn-guard", "src\n");
    must_exit(&fetch(&dir, &[]), 0);
    assert!(to.join("src/main.rs").is_file());
}

/// A wheel that the user installed with `pip install --target`, of which only the record is left, and a record that
/// `fetch` cannot know.
#[test]
fn a_record_of_the_user_is_not_replaced() {
    let dir = folder("own-record");
    let to = dir.join("to");
    file(&dir, "bin/uv.tree/odd-1.dist-info/RECORD", "");
    for name in ["nvidia_cudnn_cu13-9.28.1.4", "odd-1"] {
        let _ = fs::remove_dir_all(&to);
        file(&dir, "bin/uv.tree/odd-1.dist-info/RECORD", "");
        must_exit(&fetch(&dir, &["--cuda", "12"]), 0);
        let claims = fs::read_to_string(to.join(".cudnn-guard")).expect("the claims");
        let claims = claims.replace(&format!("{name}.dist-info\n"), "");
        file(&to, ".cudnn-guard", &claims);
        file(&to, &format!("{name}.dist-info/mine"), "");
        let before = listing(&to);
        let output = fetch(&dir, &["--cuda", "13"]);
        must_exit(&output, 1);
        let message = format!(
            "\n`{}/{name}.dist-info` was not created by cudnn-guard, so `fetch` does not change it  [fetch-failed]\n",
            to.display()
        );
        let shown = complaint(&output);
        assert!(shown.starts_with(&message), "{shown}");
        assert_eq!(listing(&to), before);
    }
}

/// A process may be killed after it moved the old files away, and while it moves the new ones in.
#[test]
fn an_interrupted_replacement_is_completed_without_the_network() {
    let dir = folder("interrupted");
    let (to, left) = (dir.join("to"), dir.join("to/.fetching-0123456789abcdef"));
    let notes = to.join(".fetching-notes");
    must_exit(&fetch(&dir, &["--cuda", "12.4"]), 0);
    fs::create_dir(&notes).expect("a directory");
    let whole = installed(&to);
    let calls = || fs::read_to_string(dir.join("bin/uv.log")).expect("the calls");
    let before = calls();
    let cudnn = "nvidia_cudnn_cu12-9.28.0.42.dist-info";
    file(&left, "new/nvidia/incomplete", "");
    fs::create_dir_all(left.join("old")).expect("a directory");
    for name in ["nvidia", cudnn] {
        fs::rename(to.join(name), left.join("old").join(name)).expect("moved");
    }
    must_exit(&fetch(&dir, &[]), 0);
    assert_eq!(installed(&to), whole);

    file(&left, "old/nvidia/cudnn/lib/libcudnn.so.8", "");
    fs::create_dir_all(left.join("new")).expect("a directory");
    fs::rename(to.join(cudnn), left.join("new").join(cudnn)).expect("moved");
    must_exit(&fetch(&dir, &[]), 0);
    assert_eq!(installed(&to), whole);
    assert_eq!(calls(), before);
    assert!(!left.exists() && notes.is_dir());
}
