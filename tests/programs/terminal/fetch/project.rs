//! The CUDA and its libraries that a project uses.

use super::{command, file, folder, must_exit, text};
use crate::terminal::doctor::crate_with_cudarc;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns `fetch` in a directory, with cargo on PATH.
fn with_cargo(dir: &Path, work: &Path, arguments: &[&str]) -> Command {
    let cargo = Path::new(env!("CARGO")).parent().expect("a directory");
    let path = std::env::join_paths([&dir.join("bin"), cargo]).expect("a list");
    let mut command = command(dir, arguments);
    command.current_dir(work).env("PATH", path);
    command
}

fn fetched(dir: &Path, work: &Path, arguments: &[&str]) -> Output {
    let mut command = with_cargo(dir, work, arguments);
    command.output().expect("cudnn-guard runs")
}

fn project(name: &str) -> PathBuf {
    let dir = folder(name);
    let manifest = "[package]\nname = \"app\"\nversion = \"0.1.0\"\n\n[dependencies]\ncudarc = \"0.19\"\n\n[workspace]\n";
    file(&dir, "Cargo.toml", manifest);
    file(&dir, "src/main.rs", "fn main() {}\n");
    let script = "fn main() {\n    cudnn_guard::build(|| {\n        let libs = [\"cublas\", \"cufft\", \"curand\", \"nvJitLink\"];\n        \
                  let gpu = cudnn_guard::Config::new().cudnn(\">=9.1, <10\").libs(libs).probe()?;\n        gpu.guard().write()\n    });\n}\n";
    file(&dir, "build.rs", script);
    dir
}

#[test]
fn the_libraries_of_a_project_are_added() {
    let dir = project("of-a-project");
    let output = fetched(&dir, &dir, &[]);
    must_exit(&output, 0);
    let shown = text(&output);
    let added = "  i added        nvjitlink, curand, cufft, which this project uses\n";
    assert!(shown.starts_with(added), "{shown}");
    for wheel in ["nvidia_cufft", "nvidia_curand", "nvidia_nvjitlink"] {
        let info = dir.join(format!("to/{wheel}-13.5.37.dist-info"));
        assert!(info.is_dir(), "{shown}");
    }
    // The root of a workspace has the libraries of all members.
    let root = folder("of-a-workspace");
    file(&root, "Cargo.toml", "[workspace]\nmembers = [\"app\"]\n");
    let manifest = "[package]\nname = \"app\"\nversion = \"0.1.0\"\n\n[dependencies]\n\
                    candle-core = { version = \"0.11\", features = [\"cuda\"] }\n";
    file(&root, "app/Cargo.toml", manifest);
    file(&root, "app/src/main.rs", "fn main() {}\n");
    let shown = text(&fetched(&root, &root, &[]));
    assert!(
        shown.starts_with("  i added        curand, which this project uses\n"),
        "{shown}"
    );
    // A dependency uses candle.
    let above = folder("of-a-dependency");
    file(&above, "Cargo.toml", "[package]\nname = \"app\"\n");
    let lock = "[[package]]\nname = \"candle-kernels\"\nversion = \"0.11.0\"\n";
    file(&above, "Cargo.lock", lock);
    let shown = text(&fetched(&above, &above, &[]));
    assert!(
        shown.starts_with("  i added        curand, which this project uses\n"),
        "{shown}"
    );
}

#[test]
fn named_libraries_replace_those_of_the_project() {
    let dir = project("of-the-command-line");
    let shown = text(&fetched(&dir, &dir, &["--with", "curand"]));
    assert!(!shown.contains(" added "), "{shown}");
    assert!(!dir.join("to/nvidia_cufft-13.5.37.dist-info").exists());
    assert!(dir.join("to/nvidia_curand-13.5.37.dist-info").exists());
    // Nothing is added outside a crate.
    let shown = text(&fetched(&dir, &dir.join("src"), &[]));
    assert!(!shown.contains(" added "), "{shown}");
}

/// The CUDA of cudarc's feature, in the manifest or in the build that `Cargo.lock` describes.
#[test]
fn the_cuda_of_cudarc_is_chosen() {
    let dir = project("of-cudarc");
    let manifest = "[package]\nname = \"app\"\nversion = \"0.1.0\"\n\n[dependencies]\n\
                    cudarc = { version = \"0.19\", default-features = false, features = [\"cuda-12080\"] }\n\n[workspace]\n";
    file(&dir, "Cargo.toml", manifest);
    let shown = text(&fetched(&dir, &dir, &["--with", "curand"]));
    let chosen = "  i chosen       CUDA 12.8, since cudarc is compiled for it\n";
    assert!(shown.starts_with(chosen), "{shown}");
    let log = std::fs::read_to_string(dir.join("bin/uv.requirements")).expect("a log");
    assert!(log.contains("]==12.8.*\n"), "{log}");
    // What is installed for another project stays, until the user decides.
    must_exit(&fetched(&dir, &dir, &["--cuda", "13"]), 0);
    let shown = text(&fetched(&dir, &dir, &["--with", "curand"]));
    let other = "  ! installed    CUDA 13.5, but this project requires CUDA 12.8, since cudarc is compiled for it: add \
                 `--cuda 12.8` to replace it, or also `--to DIR --write-config` to keep both\n";
    assert!(shown.starts_with(other), "{shown}");
    assert!(shown.contains("  ✓ CUDA toolkit 13.5.37 in "), "{shown}");
    must_exit(&fetched(&dir, &dir, &["--cuda", "12"]), 0);
    let shown = text(&fetched(&dir, &dir, &[]));
    assert!(!shown.contains("! installed"), "{shown}");
}

/// Without such a feature, the newest CUDA for which the locked cudarc has bindings.
#[test]
fn the_newest_cuda_of_a_locked_cudarc_is_chosen() {
    let dir = folder("of-a-locked-cudarc");
    let sources = [
        (
            "Cargo.toml",
            "[package]\nname = \"cudarc\"\nversion = \"0.16.6\"\n[features]\ncuda-12080 = []\ncuda-13000 = []\n\
             cuda-version-from-build-system = []\n",
        ),
        (
            "build.rs",
            "panic!(\"Unsupported cuda toolkit version\");\n",
        ),
    ];
    let features = "default-features = false, features = [\"cuda-version-from-build-system\"]";
    crate_with_cudarc(&dir, "", features, &sources);
    let fetched = |arguments: &[&str]| {
        let mut command = with_cargo(&dir, &dir, arguments);
        command.env("CARGO_HOME", dir.join("cargo"));
        text(&command.output().expect("cudnn-guard runs"))
    };
    let shown = fetched(&[]);
    let chosen =
        "  i chosen       CUDA 13.0, the newest for which the locked cudarc has bindings\n";
    assert!(shown.starts_with(chosen), "{shown}");
    assert!(!fetched(&[]).contains("! installed"));
    fetched(&["--cuda", "13.5"]);
    let other = "  ! installed    CUDA 13.5, but this project requires CUDA 13.0, the newest for which the locked cudarc has bindings: \
                 add `--cuda 13.0` to replace it, or also `--to DIR --write-config` to keep both\n";
    let shown = fetched(&[]);
    assert!(shown.starts_with(other), "{shown}");
}
