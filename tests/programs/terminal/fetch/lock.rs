//! Tests of `fetch --lock`: installing the same wheels again.

use super::{command, fetch, installed, with_pip};
use crate::terminal::{complaint, file, folder, must_exit, text};
use std::fs;

/// The hash of each wheel in the index of the installers.
fn hash() -> String {
    format!("sha256:{}", "0a".repeat(32))
}

#[test]
fn exactly_the_locked_wheels_are_fetched() {
    let dir = folder("lock");
    let file = dir.join("cuda.lock");
    let path = file.to_str().expect("text");
    let (to, log) = (dir.join("to"), dir.join("bin/uv.log"));
    let output = fetch(&dir, &["--lock", path]);
    must_exit(&output, 0);
    let calls = || fs::read_to_string(&log).expect("the calls");
    let first = calls();
    let locked = format!("  ✓ locked       {path}\n");
    assert!(text(&output).contains(&locked), "{}", text(&output));
    let written = fs::read_to_string(&file).expect("the file");
    let head = "# `cudnn-guard fetch --lock FILE` installs exactly these wheels.\n";
    assert!(written.starts_with(head), "{written}");
    let cudnn = format!("\nnvidia-cudnn-cu13==9.28.1.4 \\\n    --hash={}\n", hash());
    assert!(written.contains(&cudnn), "{written}");
    assert_eq!(written.matches("==").count(), 8, "{written}");

    // Installed wheels are not fetched again, and the file does not change.
    must_exit(&fetch(&dir, &["--lock", path]), 0);
    assert_eq!(calls(), first);
    assert_eq!(fs::read_to_string(&file).expect("the file"), written);

    // cuDNN and one of the toolkit's wheels are other versions.
    let other = written
        .replace("nvvm==13.5.37", "nvvm==13.5.99")
        .replace("9.28.1.4", "9.12.0.46");
    fs::write(&file, other).expect("a file");
    must_exit(&fetch(&dir, &["--lock", path]), 0);
    let releases = installed(&to);
    for wheel in [
        "nvidia_nvvm-13.5.99",
        "nvidia_cublas-13.5.37",
        "nvidia_cudnn_cu13-9.12.0.46",
    ] {
        assert!(releases.contains(wheel), "{releases}");
    }
    let installs = calls();
    let mut installs = installs.lines().filter(|call| call.contains(" install "));
    assert!(installs.all(|call| call.ends_with(" --no-deps --require-hashes")));

    // A wheel that is not in the file leaves.
    fs::write(&file, written).expect("a file");
    must_exit(&fetch(&dir, &["--lock", path]), 0);
    let releases = installed(&to);
    must_exit(&fetch(&dir, &["--with", "curand"]), 0);
    assert!(installed(&to).contains("nvidia_curand"));
    must_exit(&fetch(&dir, &["--lock", path]), 0);
    assert_eq!(installed(&to), releases);
}

#[test]
fn a_file_without_a_required_wheel_or_with_conflicting_options_is_refused() {
    let dir = folder("lock-refused");
    let refused = |file: &str, arguments: &[&str]| {
        fs::write(dir.join("cuda.lock"), file).expect("a file");
        let mut fetch = command(&dir, &[&["--lock", "cuda.lock"], arguments].concat());
        let output = fetch.current_dir(&dir).output().expect("cudnn-guard runs");
        must_exit(&output, 1);
        complaint(&output)
    };
    let anew = "\n  = help: remove the file, and run `cudnn-guard fetch --lock cuda.lock` to create it again\n";
    let incomplete = "\nthe lock file `cuda.lock` does not consist of NVIDIA wheels with SHA-256 hashes, with a toolkit and a cuDNN  [fetch-failed]";
    let hash = hash();
    let nvcc = format!("nvidia-cuda-runtime==13.5.37 --hash={hash}\n");
    let two = format!("{nvcc}nvidia-cudnn-cu13==9.28.1.4 --hash={hash}\n");
    for text in ["", &format!("{nvcc}nvidia-cudnn-cu13==9.28.1.4\n")] {
        assert_eq!(refused(text, &[]), format!("{incomplete}{anew}"));
    }
    // pip would run the build script of `evil`, and a build the nvcc of any wheel.
    for evil in [
        format!("evil==1 --hash={hash}\n"),
        format!("nvidia-evil==1 --hash={hash}\n"),
        "nvidia-nvvm==13.5.37 --hash=md5:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a\n".to_string(),
        "--no-binary :all:\n".to_string(),
    ] {
        let text = format!("{two}{evil}");
        assert_eq!(refused(&text, &[]), format!("{incomplete}{anew}"));
    }
    assert!(!dir.join("bin/uv.log").exists());
    assert_eq!(
        refused(&two, &["--cuda", "13"]),
        "\nthe `--lock` file already specifies the versions  [fetch-failed]\n  \
         = help: omit --cuda, --cudnn and --with, or remove the lock file\n"
    );
}

/// The installer gets only what was parsed: pip would interpret a comment with a line end of its own or an encoding, and
/// run the build script of `evil`.
#[test]
fn the_installer_does_not_see_comments() {
    let dir = folder("lock-comments");
    let hash = hash();
    let pins = format!(
        "nvidia-cuda-runtime==13.5.37 --hash={hash}\nnvidia-cudnn-cu13==9.28.1.4 --hash={hash}\n"
    );
    for comment in [
        format!("# x\r--no-binary :all:\revil==1 --hash={hash}\n"),
        format!("# x\u{2028}--no-binary :all:\u{2028}evil==1 --hash={hash}\n"),
        format!("# coding: utf-7\n# x+AAo---no-binary :all:+AAo-evil==1 --hash={hash}\n"),
    ] {
        let _ = fs::remove_dir_all(dir.join("to"));
        let lock = dir.join("cuda.lock");
        fs::write(&lock, format!("{comment}{pins}")).expect("a file");
        must_exit(&fetch(&dir, &["--lock", lock.to_str().expect("text")]), 0);
        let given = fs::read_to_string(dir.join("bin/uv.requirements")).expect("a file");
        assert_eq!(given, pins);
    }
}

/// pip installs from a lock file, but cannot create it for other platforms.
#[test]
fn only_uv_creates_a_lock_file() {
    let dir = folder("lock-with-pip");
    let pip = |arguments: &[&str]| {
        let mut command = with_pip(&dir, arguments);
        command.current_dir(&dir).output().expect("it runs")
    };
    let output = pip(&["--lock", "cuda.lock"]);
    must_exit(&output, 1);
    assert_eq!(
        complaint(&output),
        "\nonly uv can create a lock file, and no working uv is on PATH  [fetch-failed]\n  \
         = help: install uv (https://docs.astral.sh/uv/), which needs no root\n"
    );
    assert!(!dir.join("to").exists() && !dir.join("cuda.lock").exists());
    let lock = dir.join("cuda.lock");
    must_exit(&fetch(&dir, &["--lock", lock.to_str().expect("text")]), 0);
    let whole = installed(&dir.join("to"));
    fs::remove_dir_all(dir.join("to")).expect("removed");
    must_exit(&pip(&["--lock", "cuda.lock"]), 0);
    assert_eq!(installed(&dir.join("to")), whole);
}

/// `fetch` would refuse its directory from then on.
#[test]
fn a_lock_file_is_not_created_among_the_fetched_files() {
    let dir = folder("lock-inside");
    let lock = dir.join("to/cuda.lock");
    let output = fetch(&dir, &["--lock", lock.to_str().expect("text")]);
    must_exit(&output, 1);
    assert_eq!(
        complaint(&output),
        format!(
            "\nthe lock file `{}` would be among the fetched files  [fetch-failed]\n  \
             = help: create it in another directory, such as that of the crate\n",
            lock.display()
        )
    );
    assert!(!dir.join("to").exists());
}

/// A lock file contains only wheels that `fetch` accepts again.
#[test]
fn a_failed_resolution_creates_no_lock_file() {
    let dir = folder("lock-unresolved");
    file(&dir, "bin/uv.broken", "no solution\n");
    let lock = dir.join("cuda.lock");
    let output = fetch(&dir, &["--lock", lock.to_str().expect("text")]);
    must_exit(&output, 1);
    let message = "no solution\n\nfailed to select NVIDIA's wheels  [fetch-failed]\n";
    let shown = complaint(&output);
    assert!(shown.starts_with(message), "{shown}");
    assert!(!lock.exists() && !dir.join("to").exists());
}
