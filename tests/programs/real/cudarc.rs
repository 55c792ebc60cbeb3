//! Programs with cudarc, and NVIDIA's own cuDNN: `cargo test --test programs real::cudarc -- --ignored` downloads cudarc.

use super::set;
use crate::support::{Ran, cargo, fresh, program, run, scratch, write_if_new};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Builds a program that calls cuDNN, for a release: with LTO and without symbols.
fn program_with(cudarc: &str, feature: &str) -> PathBuf {
    let name = format!("cudarc-{}", cudarc.replace('.', "-"));
    let dir = scratch(&name);
    fs::create_dir_all(dir.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies.cudarc]\n\
         version = \"={cudarc}\"\ndefault-features = false\nfeatures = [\"std\", \"cudnn\", {feature}]\n\n\
         [profile.release]\nlto = true\nstrip = true\n\n[workspace]\n"
    );
    write_if_new(&dir.join("Cargo.toml"), &manifest);
    let main = "fn main() { println!(\"{}\", cudarc::cudnn::result::get_version()); }\n";
    write_if_new(&dir.join("src/main.rs"), main);
    let mut fetch = program("cargo");
    run(fetch.current_dir(&dir).arg("fetch")).exits_with(0);
    let target = dir.join("target");
    let mut build = cargo(&dir, &["build", "--release"]);
    run(build.env("CARGO_TARGET_DIR", &target)).exits_with(0);
    target.join("release").join(name)
}

/// Creates a directory with this cuDNN and the name that cudarc tries first.
fn cudnn(wheel: &str, name: &str) -> PathBuf {
    let dir = fresh(&format!("cudarc-{wheel}"));
    for file in fs::read_dir(set(wheel).join("nvidia/cudnn/lib")).unwrap() {
        let file = file.unwrap();
        symlink(file.path(), dir.join(file.file_name())).unwrap();
    }
    symlink(name, dir.join("libcudnn.so")).unwrap();
    dir
}

fn started(app: &Path, dir: &Path) -> Ran {
    run(program(app).env("LD_LIBRARY_PATH", dir))
}

fn inspected(app: &Path, dir: &Path) -> Ran {
    let mut inspect = program(env!("CARGO_BIN_EXE_cudnn-guard"));
    run(inspect.arg("inspect").arg(app).env("LD_LIBRARY_PATH", dir))
}

/// `inspect` names the function of the panic, and is silent if there is none.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn the_function_of_the_panic_is_named() {
    let app = program_with("0.16.0", "\"dynamic-loading\", \"cuda-12080\"");
    for (wheel, name, function) in [
        (
            "cudnn-cu12-8.9.7",
            "libcudnn.so.8",
            Some("cudnnAdvVersionCheck"),
        ),
        (
            "cudnn-cu12-9.1.0",
            "libcudnn.so.9",
            Some("cudnnBackendPopulateCudaGraph"),
        ),
        ("cudnn-cu12-9.10", "libcudnn.so.9", None),
        ("cudnn-cu13-9.28", "libcudnn.so.9", None),
    ] {
        let dir = cudnn(wheel, name);
        let Some(function) = function else {
            started(&app, &dir).exits_with(0);
            inspected(&app, &dir).exits_with(0).does_not_say("looks up");
            continue;
        };
        started(&app, &dir)
            .exits_with(101)
            .says(&format!("undefined symbol: {function}"));
        let wanted = format!(
            "will panic when it first uses cuDNN: it looks up {function}, which is missing from `{}/libcudnn.so` [cudnn-not-loadable] \
             = help: install cuDNN 9.5 or later 9.x,",
            dir.display()
        );
        // The program may do without cuDNN.
        inspected(&app, &dir).exits_with(0).says_in_words(&wanted);
    }
    // Later versions look up only the functions that are called.
    let app = program_with("0.19.5", "\"dynamic-loading\", \"cuda-12080\"");
    let dir = cudnn("cudnn-cu12-9.1.0", "libcudnn.so.9");
    started(&app, &dir).exits_with(0);
    inspected(&app, &dir).exits_with(0).does_not_say("looks up");
}

/// Before 0.19.2, cudarc does not open the only name in a wheel.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn a_cudnn_that_is_not_opened_is_named() {
    let app = program_with("0.12.1", "\"cuda-12050\"");
    let dir = cudnn("cudnn-cu12-9.10", "libcudnn.so.9");
    inspected(&app, &dir)
        .exits_with(0)
        .does_not_say("cannot load");
    fs::remove_file(dir.join("libcudnn.so")).unwrap();
    started(&app, &dir)
        .exits_with(101)
        .says("searched for library names");
    let wanted = "cannot load `libcudnn.so` or any other name that cudarc 0.12.1 tries; only `libcudnn.so.9` was found";
    // The program may do without cuDNN.
    inspected(&app, &dir).exits_with(0).says_in_words(wanted);
}
