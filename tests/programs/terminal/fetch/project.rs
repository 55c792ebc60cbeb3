//! The libraries that a project uses.

use super::{command, file, folder, must_exit, text};
use std::path::{Path, PathBuf};
use std::process::Output;

/// Fetches in a directory, with cargo on PATH.
fn fetched(dir: &Path, work: &Path, arguments: &[&str]) -> Output {
    let cargo = Path::new(env!("CARGO")).parent().expect("a directory");
    let path = std::env::join_paths([&dir.join("bin"), cargo]).expect("a list");
    let mut command = command(dir, arguments);
    command.current_dir(work).env("PATH", path);
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
