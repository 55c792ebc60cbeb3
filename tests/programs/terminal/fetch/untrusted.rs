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

/// The old files are moved, or none is.
#[test]
fn an_interrupted_replacement_is_completed_by_the_next() {
    let dir = folder("interrupted");
    let to = dir.join("to");
    must_exit(&fetch(&dir, &["--cuda", "12.4"]), 0);
    let whole = installed(&to);
    fs::create_dir_all(to.join(".fetching-0123456789abcdef/old")).expect("a directory");
    fs::rename(
        to.join("nvidia"),
        to.join(".fetching-0123456789abcdef/old/nvidia"),
    )
    .expect("moved");
    must_exit(&fetch(&dir, &[]), 0);
    assert_eq!(installed(&to), whole);
}
