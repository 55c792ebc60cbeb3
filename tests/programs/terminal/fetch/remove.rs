//! Tests of `fetch --remove`: the files that it removes and keeps.

use super::{command, fetch, installed, listing};
use crate::terminal::{complaint, file, folder, must_exit, text};
use std::fs;

#[test]
fn fetched_files_are_removed_and_other_files_stay() {
    let dir = folder("remove");
    must_exit(&fetch(&dir, &[]), 0);
    let to = dir.join("to");
    let output = fetch(&dir, &["--remove"]);
    must_exit(&output, 0);
    assert_eq!(
        text(&output),
        "  ✓ removed      cuDNN 9.28.1.4, 1 MB\n  ✓ removed      CUDA toolkit 13.5.37, 1 MB\n"
    );
    assert!(!to.exists(), "{:?}", listing(&to));

    must_exit(&fetch(&dir, &["--cuda", "12.4"]), 0);
    file(&to, "nvidia/own/file", "");
    file(&to, "numpy-2.0.dist-info/RECORD", "");
    file(
        &dir,
        ".cargo/config.toml",
        "[env]\nCUDNN_GUARD_HOME = \"/opt/cuda\"\n",
    );
    let mut remove = command(&dir, &["--remove"]);
    let output = remove.current_dir(&dir).output().expect("cudnn-guard runs");
    must_exit(&output, 0);
    let shown = text(&output);
    let reminder = "  i ./.cargo/config.toml still sets CUDNN_GUARD_HOME: remove these lines\n";
    assert!(shown.ends_with(reminder), "{shown}");
    let left = [
        "numpy-2.0.dist-info",
        "numpy-2.0.dist-info/RECORD",
        "nvidia",
        "nvidia/own",
        "nvidia/own/file",
    ];
    assert_eq!(
        listing(&to),
        left.map(|path| to.join(path).display().to_string())
    );

    let output = fetch(&dir, &["--remove"]);
    must_exit(&output, 1);
    assert_eq!(
        complaint(&output),
        format!(
            "\ncudnn-guard has not installed anything in `{}`  [fetch-failed]\n  \
             = help: pass the directory that you fetched into with `--to DIR`\n",
            to.display()
        )
    );
}

/// The first `--remove` was killed between the directories and the records, or before it released its last claims.
#[test]
fn a_killed_remove_is_completed() {
    let dir = folder("remove-killed");
    let to = dir.join("to");
    for gone in ["nvidia/cudnn", "nvidia_cudnn_cu13-9.28.1.4.dist-info"] {
        must_exit(&fetch(&dir, &[]), 0);
        fs::remove_dir_all(to.join(gone)).expect("removed");
        must_exit(&fetch(&dir, &["--remove"]), 0);
        assert!(!to.exists(), "{:?}", listing(&to));
    }
}

/// The records of the files to replace have been moved away, but nothing else has been done.
#[test]
fn a_killed_replacement_keeps_its_version() {
    let dir = folder("replace-killed");
    let to = dir.join("to");
    must_exit(&fetch(&dir, &["--cuda", "12.4"]), 0);
    let old = to.join(".fetching-4194305/old");
    fs::create_dir_all(&old).expect("a directory");
    for entry in fs::read_dir(&to).expect("a directory").flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().contains("_cu12-12.4") {
            fs::rename(entry.path(), old.join(name)).expect("moved");
        }
    }
    fs::remove_dir_all(to.join("nvidia/cublas")).expect("removed");
    must_exit(&fetch(&dir, &[]), 0);
    let releases = installed(&to);
    assert!(
        releases.contains("nvidia_cuda_runtime_cu12-12.4.127"),
        "{releases}"
    );
}

/// The other CUDA was installed by `pip install --target` in the same directory.
#[test]
fn records_of_a_cuda_that_fetch_did_not_install_stay() {
    let dir = folder("remove-beside");
    let to = dir.join("to");
    must_exit(&fetch(&dir, &[]), 0);
    file(&to, "nvidia/cuda_runtime/lib/libcudart.so.12", "");
    file(
        &to,
        "nvidia_cuda_runtime_cu12-12.4.127.dist-info/RECORD",
        "",
    );
    must_exit(&fetch(&dir, &["--remove"]), 0);
    assert_eq!(
        installed(&to),
        "cuda_runtime\nnvidia_cuda_runtime_cu12-12.4.127.dist-info"
    );
}

/// The first `fetch` was killed, or a `--remove` before it released its last claims.
#[test]
fn removed_leftovers_of_a_killed_fetch_are_reported() {
    let dir = folder("remove-leftovers");
    let to = dir.join("to");
    file(&to, ".fetch.lock", "");
    file(&to, ".fetching-4194305/new/file", "1");
    let output = fetch(&dir, &["--remove"]);
    must_exit(&output, 0);
    assert_eq!(
        text(&output),
        "  ✓ removed      files of an interrupted fetch, 1 MB\n"
    );
    assert!(!to.exists(), "{:?}", listing(&to));

    file(&to, ".cudnn-guard", "nvidia/cu13\n");
    let output = fetch(&dir, &["--remove"]);
    must_exit(&output, 0);
    assert_eq!(text(&output), "  ✓ removed      CUDA toolkit, 0 MB\n");
}
