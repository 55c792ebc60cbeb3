//! What `cudnn-guard fetch` refuses, and what it leaves behind.

use super::{cudnn_guard, file, folder, must_exit, text};
use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::process::Command;

/// All files and links below a folder.
fn listing(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder").flatten() {
        found.push(entry.path().display().to_string());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(listing(&entry.path()));
        }
    }
    found.sort();
    found
}

#[test]
fn cuda_12_is_not_fetched() {
    let to = folder("cuda-12").join("new");
    let to = to.to_str().expect("text");
    let output = cudnn_guard(&["fetch", "--cuda", "12.4", "--to", to]);
    must_exit(&output, 1);
    assert!(text(&output).contains("[fetch-failed]"));
    assert!(!Path::new(to).exists());
}

#[test]
fn nothing_is_written_into_a_folder_of_somebody_elses() {
    let to = folder("foreign");
    file(&to, "nvidia/cudnn/lib/libcudnn.so.9", "");
    let before = listing(&to);
    let output = cudnn_guard(&["fetch", "--to", to.to_str().expect("text")]);
    must_exit(&output, 1);
    assert_eq!(
        text(&output),
        format!(
            "\n`{}/nvidia/cudnn` was not put there by cudnn-guard, which adds nothing to it  [fetch-failed]\n  \
             = help: fetch into another folder with `--to DIR`\n",
            to.display()
        )
    );
    assert_eq!(listing(&to), before);
}

#[test]
fn a_machine_without_python_is_told_what_to_install() {
    let to = folder("no-python");
    let before = listing(&to);
    let output = cudnn_guard(&["fetch", "--to", to.to_str().expect("text")]);
    must_exit(&output, 1);
    assert_eq!(
        text(&output),
        "\nneither uv nor a Python with pip is on PATH  [fetch-failed]\n  \
         = help: install uv (https://docs.astral.sh/uv/), which needs no root\n  \
         = help: or install Python 3 with pip: `apt install python3-pip`, `dnf install python3-pip`\n"
    );
    assert_eq!(listing(&to), before);
}

/// A pip that cannot fetch: its words are shown, and nothing is left behind.
#[cfg(unix)]
#[test]
fn a_download_that_fails_leaves_nothing_and_shows_the_words() {
    use std::os::unix::fs::PermissionsExt;
    let dir = folder("failing");
    file(
        &dir,
        "bin/uv",
        "#!/bin/sh\nprintf 'ERROR: no \\033[31mwheel\\n' >&2\nexit 1\n",
    );
    let uv = dir.join("bin/uv");
    fs::set_permissions(&uv, fs::Permissions::from_mode(0o755)).expect("a program");
    let to = dir.join("to");
    let output = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .args(["fetch", "--to"])
        .arg(&to)
        .env_clear()
        .env("PATH", dir.join("bin"))
        .output()
        .expect("cudnn-guard runs");
    must_exit(&output, 1);
    let shown = text(&output);
    assert!(
        shown.contains("NVIDIA's wheels could not be fetched  [fetch-failed]\n"),
        "{shown}"
    );
    assert!(
        shown.contains("\n  it said     ERROR: no [31mwheel\n"),
        "{shown}"
    );
    assert!(
        shown.contains(&format!("\n  command     {} pip install ", uv.display())),
        "{shown}"
    );
    assert_eq!(listing(&to), Vec::<String>::new());
}
