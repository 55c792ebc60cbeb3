//! Tests of `fetch --lock`: installing the same wheels again.

use super::{command, fetch, installed};
use crate::terminal::{complaint, file, folder, must_exit, text};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

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
    let locked = format!("  ✓ locked       {path}\n");
    assert!(text(&output).contains(&locked), "{}", text(&output));
    let written = fs::read_to_string(&file).expect("the file");
    let head = "# `cudnn-guard fetch --lock FILE` installs exactly these wheels.\n";
    assert!(written.starts_with(head), "{written}");
    let cudnn = format!("\nnvidia-cudnn-cu13==9.28.1.4 \\\n    --hash={}\n", hash());
    assert!(written.contains(&cudnn), "{written}");
    assert_eq!(written.matches("==").count(), 8, "{written}");

    // Installed wheels are not fetched again, and the file does not change.
    let calls = || fs::read_to_string(&log).expect("the calls").lines().count();
    must_exit(&fetch(&dir, &["--lock", path]), 0);
    assert_eq!(calls(), 1);
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
    let calls = fs::read_to_string(&log).expect("the calls");
    assert!(calls.contains(" --require-hashes -r "), "{calls}");
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
    let nvcc = format!("nvidia-cuda-nvcc==13.5.37 --hash={hash}\n");
    let two = format!("{nvcc}nvidia-cudnn-cu13==9.28.1.4 --hash={hash}\n");
    for text in ["", &format!("{nvcc}nvidia-cudnn-cu13==9.28.1.4\n")] {
        assert_eq!(refused(text, &[]), format!("{incomplete}{anew}"));
    }
    // pip would run the build script of `evil`, and a build the nvcc of any wheel.
    for evil in [
        format!("# x\r--no-binary :all:\revil==1 --hash={hash}\n"),
        format!("# x\u{2028}--no-binary :all:\u{2028}evil==1 --hash={hash}\n"),
        format!("evil==1 --hash={hash}\n"),
        format!("nvidia-evil==1 --hash={hash}\n"),
        "nvidia-nvvm==13.5.37 --hash=md5:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a\n".to_string(),
    ] {
        assert_eq!(
            refused(&format!("{two}{evil}"), &[]),
            format!("{incomplete}{anew}")
        );
    }
    let utf_7 =
        format!("# coding: utf-7\n# x+AAo---no-binary :all:+AAo-evil==1 --hash={hash}\n{two}");
    assert_eq!(refused(&utf_7, &[]), format!("{incomplete}{anew}"));
    assert!(!dir.join("bin/uv.log").exists());
    assert_eq!(
        refused(&two, &["--cuda", "13"]),
        "\nthe `--lock` file already specifies the versions  [config-invalid]\n  \
         = help: omit --cuda, --cudnn and --with, or remove the lock file\n"
    );
}

/// Neither a setting of the user nor an index without hashes results in an incomplete file.
#[test]
fn every_locked_wheel_has_a_hash() {
    let dir = folder("lock-with-pip");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/terminal/fetch");
    let path = dir.join("cuda.lock");
    let locked = || {
        let mut command = command(&dir, &["--lock", "cuda.lock"]);
        fs::remove_file(dir.join("bin/uv")).expect("uv removed");
        let _ = symlink(scripts.join("uv"), dir.join("bin/fake-uv"));
        let _ = symlink(scripts.join("pip"), dir.join("bin/python3"));
        let command = command.current_dir(&dir).env("PIP_VERBOSE", "1");
        command.output().expect("cudnn-guard runs")
    };
    let wheel = "nvidia-nvvm==13.5.37";
    file(&dir, "bin/python3.unhashed", wheel);
    let output = locked();
    must_exit(&output, 1);
    let shown = complaint(&output);
    let message = "\ncannot determine the hashes of the wheels  [fetch-failed]\n";
    assert!(shown.starts_with(message), "{shown}");
    assert!(
        shown.contains("no hash of nvidia-nvvm 13.5.37\n"),
        "{shown}"
    );
    assert!(!path.exists());
    fs::remove_file(dir.join("bin/python3.unhashed")).expect("removed");
    must_exit(&locked(), 0);
    let written = fs::read_to_string(&path).expect("the file");
    assert!(
        written.contains(&format!("\n{wheel} \\\n    --hash={}\n", hash())),
        "{written}"
    );
    assert_eq!(written.matches("==").count(), 8, "{written}");
    // Its temporary files are in the directory. No file of the current directory is a module of Python.
    let read = |name: &str| fs::read_to_string(dir.join("bin").join(name)).expect("a file");
    let temporary = dir.join("to/.fetching-").display().to_string();
    assert!(read("python3.report").starts_with(&temporary));
    for place in read("python3.places").lines() {
        let is_bin = place.starts_with(&dir.join("bin").display().to_string());
        assert!(is_bin || place.starts_with(&temporary), "{place}");
        assert!(place.contains(" PYTHONSAFEPATH=1"), "{place}");
    }
    must_exit(&locked(), 0);
}
