//! Tests of `fetch --lock`: installing the same wheels again.

use super::{command, fetch, installed};
use crate::terminal::{complaint, folder, must_exit, text};
use std::fs;

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
    let head = format!("# `cudnn-guard fetch --lock {path}` installs exactly these wheels.\n");
    assert!(written.starts_with(&head), "{written}");
    let cudnn = "\nnvidia-cudnn-cu13==9.28.1.4 \\\n    --hash=sha256:0a\n";
    assert!(written.contains(cudnn), "{written}");
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
    let incomplete = "\nthe lock file `cuda.lock` does not consist of wheels with hashes, with a toolkit and a cuDNN  [fetch-failed]";
    for text in [
        "",
        "nvidia-cuda-nvcc==13.5.37 --hash=sha256:0a\nnvidia-cudnn-cu13==9.28.1.4\n",
    ] {
        assert_eq!(refused(text, &[]), format!("{incomplete}{anew}"));
    }
    let two = "nvidia-cuda-nvcc==13.5.37 --hash=sha256:0a\nnvidia-cudnn-cu13==9.28.1.4 --hash=sha256:0a\n";
    assert_eq!(
        refused(two, &["--cuda", "13"]),
        "\nthe `--lock` file already specifies the versions  [config-invalid]\n  \
         = help: omit --cuda, --cudnn and --with, or remove the lock file\n"
    );
}
