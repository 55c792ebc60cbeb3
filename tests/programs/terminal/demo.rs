//! The output of `cudnn-guard demo`.

use super::{must_exit, text};
use crate::support::{cargo, fresh, program, repository, run, scratch};
use std::fs;
use std::process::Command;

#[test]
#[ignore = "builds a consumer and three simulators"]
fn each_of_five_broken_installations_is_reported() {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    demo.args(["demo", "--broken"])
        .env_remove("LD_LIBRARY_PATH");
    let output = demo.output().expect("cudnn-guard runs");
    must_exit(&output, 0);
    let shown = text(&output);
    let mut rest = shown.as_str();
    for wanted in [
        "One sub-library has an older version\n",
        "[parts-mixed]\n",
        "One sub-library is missing\n",
        "[parts-missing]\n",
        "One sub-library is truncated\n",
        "[library-damaged]\n",
        "cuDNN crashes the process that calls it\n",
        "[cudnn-aborted]\n",
        "The results are wrong\n",
        "[convolution-wrong]\n",
        "\nverdict: pass (the guard has to stop the program on all five)\n",
    ] {
        rest = rest
            .split_once(wanted)
            .unwrap_or_else(|| panic!("no {wanted} in\n{rest}\nof\n{shown}"))
            .1;
    }
}

/// Simulates `cargo install` after cargo has cleaned its cache. This repository replaces the version of cudnn-guard that
/// cargo would download from the registry.
#[test]
#[ignore = "builds the terminal program again"]
fn an_installed_program_does_not_need_its_sources() {
    let package = fresh("demo-package");
    let list = run(&mut cargo(
        repository(),
        &["package", "--list", "--allow-dirty"],
    ))
    .stdout;
    for path in list
        .lines()
        .filter(|path| repository().join(path).is_file())
    {
        let to = package.join(path);
        fs::create_dir_all(to.parent().expect("a parent")).expect("a directory");
        fs::copy(repository().join(path), to).expect("a copy");
    }
    // cargo removes tests from a package's manifest if their files are not packaged.
    let manifest = fs::read_to_string(package.join("Cargo.toml")).expect("a manifest");
    let manifest = manifest.replace(
        "[[test]]\nname = \"cudarc\"\nrequired-features = [\"cudarc\"]\n",
        "",
    );
    fs::write(package.join("Cargo.toml"), manifest).expect("a file");
    let target = scratch("demo-target");
    let mut build = cargo(
        &package,
        &["build", "--features", "cli", "--bin", "cudnn-guard"],
    );
    run(build.env("CARGO_TARGET_DIR", &target)).exits_with(0);
    fs::remove_dir_all(&package).expect("removed");
    let home = fresh("demo-home");
    let config = format!(
        "[patch.crates-io]\ncudnn-guard = {{ path = {:?} }}\n",
        repository()
    );
    fs::create_dir(home.join(".cargo")).expect("a directory");
    fs::write(home.join(".cargo/config.toml"), config).expect("a file");
    let mut demo = program(target.join("debug/cudnn-guard"));
    demo.args(["demo", "--dir", "work"]).current_dir(&home);
    run(&mut demo)
        .exits_with(0)
        .says("\nverdict: pass (simulated");
}
