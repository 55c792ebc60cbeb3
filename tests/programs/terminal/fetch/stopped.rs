//! A `fetch` that cannot replace one version with another, and the `fetch` after it.

use super::{fetch, installed};
use crate::terminal::{complaint, file, folder, must_exit, text};
use std::fs;

/// A broken symlink is in the place of a directory.
#[test]
fn a_version_that_could_not_be_moved_in_is_fetched_again() {
    let dir = folder("stopped");
    must_exit(&fetch(&dir, &["--cuda", "12.4"]), 0);
    let whole = installed(&dir.join("to"));
    let cublas = dir.join("to/nvidia/cublas");
    fs::remove_dir_all(&cublas).expect("a directory removed");
    std::os::unix::fs::symlink("nowhere", &cublas).expect("a link");
    let output = fetch(&dir, &[]);
    must_exit(&output, 1);
    let message = format!("\ncannot change `{}`: ", dir.join("to").display());
    assert!(
        complaint(&output).contains(&message),
        "{}",
        complaint(&output)
    );
    fs::remove_file(&cublas).expect("the link removed");
    must_exit(&fetch(&dir, &[]), 0);
    assert_eq!(installed(&dir.join("to")), whole);
}

/// The new directories are in place, but the records of the new version are not.
#[test]
fn a_fetch_that_was_killed_at_its_end_is_completed_by_the_next() {
    let dir = folder("stopped-at-its-end");
    let to = dir.join("to");
    must_exit(&fetch(&dir, &["--cuda", "12.4"]), 0);
    let whole = installed(&to);
    let temporary = to.join(".fetching-4194305");
    file(
        &temporary,
        "replaced/nvidia_cudnn_cu13-9.28.1.4.dist-info/RECORD",
        "",
    );
    let record = "nvidia_cudnn_cu12-9.28.0.42.dist-info";
    fs::create_dir_all(temporary.join("new")).expect("a directory");
    fs::rename(to.join(record), temporary.join("new").join(record)).expect("moved");
    let output = fetch(&dir, &[]);
    must_exit(&output, 0);
    assert!(!text(&output).contains("fetching"), "{}", text(&output));
    assert_eq!(installed(&to), whole);
}
